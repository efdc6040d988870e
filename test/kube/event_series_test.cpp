#include "kube/events/event_series.h"

#include <doctest/doctest.h>

#include <set>

#include "api/meta/names.h"

namespace muster::kube::event_series_test {
namespace {

using namespace std::chrono_literals;
using Kind = EventDecision::Kind;

ObjectEvent event_about(const std::string& name, const std::string& note = "3 of 5 pods have started") {
  return {.regarding = {.api_version = "jobset.x-k8s.io/v1alpha2",
                        .kind = "JobSet",
                        .ns = "team-a",
                        .name = name,
                        .uid = "uid-of-" + name,
                        .resource_version = "1"},
          .type = "Normal",
          .reason = "GroupWaiting",
          .action = "Wait",
          .note = note};
}

struct Correlation {
  explicit Correlation(EventOptions options = {}) : correlator(std::move(options)) {}

  EventDecision take(const ObjectEvent& event) { return correlator.take(event, now); }
  void pass(Duration time) {
    now.wall += time;
    now.monotonic += time;
  }
  std::vector<EventRecord> due() { return correlator.due(now.monotonic); }

  EventCorrelator correlator;
  Now now{TimePoint(1'790'000'000s), MonotonicTime(1h)};
};

TEST_CASE("the first of its kind is created and its first repetition makes a series") {
  Correlation test;
  const auto first = test.take(event_about("a"));
  REQUIRE(first.kind == Kind::kCreate);
  CHECK(first.record.count == 1);
  CHECK(first.record.first == to_timestamp(test.now.wall));
  CHECK(first.record.event == event_about("a"));
  test.pass(10s);
  const auto second = test.take(event_about("a"));
  REQUIRE(second.kind == Kind::kPatch);
  CHECK(second.record.name == first.record.name);
  CHECK(second.record.count == 2);
  CHECK(second.record.first == first.record.first);
  CHECK(second.record.last == to_timestamp(test.now.wall));
}

TEST_CASE("further repetitions are counted and written now and then and at the end") {
  Correlation test;
  test.take(event_about("a"));
  test.take(event_about("a"));
  std::vector<EventRecord> written;
  for (int second = 1; second <= 720; ++second) {  // twelve minutes
    test.pass(1s);
    for (auto& record : test.due()) written.push_back(record);
    CHECK(test.take(event_about("a")).kind == Kind::kCounted);
  }
  REQUIRE(written.size() == 2);
  CHECK(written[0].count == 301);
  CHECK(written[1].count == 601);
  const Timestamp last = to_timestamp(test.now.wall);
  // Silence ends the series after its last refresh.
  while (const auto due = test.correlator.next_due()) {
    REQUIRE(*due > test.now.monotonic);
    test.pass(*due - test.now.monotonic);
    for (auto& record : test.due()) written.push_back(record);
  }
  REQUIRE(written.size() == 3);
  CHECK(written[2].count == 722);
  CHECK(written[2].last == last);
  CHECK(test.take(event_about("a")).kind == Kind::kCreate);
}

TEST_CASE("a series ends with the silence of six minutes and what comes then is a new Event") {
  struct Row {
    std::string name;
    Duration silence;
    Kind expected;
  };
  for (const Row& row : {Row{"just before", 6min - 1ns, Kind::kPatch}, Row{"then", 6min, Kind::kCreate}}) {
    CAPTURE(row.name);
    Correlation test;
    test.take(event_about("a"));
    test.pass(row.silence);
    CHECK(test.due().empty());  // it happened once: there is nothing to add
    CHECK(test.take(event_about("a")).kind == row.expected);
  }
}

TEST_CASE("what makes an event another one") {
  struct Row {
    std::string name;
    void (*change)(ObjectEvent&);
    bool same;
  };
  const Row rows[] = {
      {"a new version of the object", [](ObjectEvent& e) { e.regarding.resource_version = "2"; }, true},
      {"another object of that name", [](ObjectEvent& e) { e.regarding.uid = "another"; }, false},
      {"another namespace", [](ObjectEvent& e) { e.regarding.ns = "team-b"; }, false},
      {"another kind", [](ObjectEvent& e) { e.regarding.kind = "Job"; }, false},
      {"another note", [](ObjectEvent& e) { e.note = "4 of 5 pods have started"; }, false},
      {"another reason", [](ObjectEvent& e) { e.reason = "GroupStarted"; }, false},
      {"another action", [](ObjectEvent& e) { e.action = "Start"; }, false},
      {"another type", [](ObjectEvent& e) { e.type = "Warning"; }, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Correlation test;
    test.take(event_about("a"));
    ObjectEvent changed = event_about("a");
    row.change(changed);
    CHECK(test.take(changed).kind == (row.same ? Kind::kPatch : Kind::kCreate));
  }
}

TEST_CASE("an object that fires too often is silenced and the others are not") {
  Correlation test;
  for (int i = 0; i < 25; ++i) CHECK(test.take(event_about("a", std::to_string(i))).kind == Kind::kCreate);
  CHECK(test.take(event_about("a", "25")).kind == Kind::kRateLimited);
  CHECK(test.take(event_about("b")).kind == Kind::kCreate);
  // Repetitions of what was written cost nothing.
  CHECK(test.take(event_about("a", "0")).kind == Kind::kPatch);
  test.pass(5min - 1s);
  CHECK(test.take(event_about("a", "26")).kind == Kind::kRateLimited);
  test.pass(2s);
  CHECK(test.take(event_about("a", "27")).kind == Kind::kCreate);
  CHECK(test.take(event_about("a", "28")).kind == Kind::kRateLimited);
  // Never more than the burst, however long it was quiet.
  test.pass(48h);
  test.due();
  for (int i = 0; i < 25; ++i) CHECK(test.take(event_about("a", "x" + std::to_string(i))).kind == Kind::kCreate);
  CHECK(test.take(event_about("a", "y")).kind == Kind::kRateLimited);
}

TEST_CASE("names are unique and allowed whatever the object is called") {
  struct Row {
    std::string name;
    std::string regarding;
    std::string begins;
  };
  const Row rows[] = {
      {"an ordinary name", "my-jobset", "my-jobset."},
      {"the longest possible", std::string(253, 'n'), std::string(236, 'n') + "."},
      {"one that is cut after a dot", std::string(235, 'n') + ".bb" + std::string(15, 'c'),
       std::string(235, 'n') + "."},
      {"one that only RBAC allows", "system:node", "event."},
  };
  std::set<std::string> seen;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Correlation test;
    for (int i = 0; i < 3; ++i) {
      const auto decision = test.take(event_about(row.regarding, std::to_string(i)));
      const std::string& name = decision.record.name;
      CHECK(name.starts_with(row.begins));
      CHECK(is_dns1123_subdomain(name).empty());
      CHECK(seen.insert(name).second);
    }
  }
  Correlation test;
  CHECK(test.take(event_about("a")).record.name == "a.18d75b8423f30000");
}

TEST_CASE("memory is bounded and what is forgotten is written before") {
  EventOptions options;
  options.max_remembered = 100;
  Correlation test(options);
  for (int i = 0; i < 3; ++i) test.take(event_about("first"));
  size_t finished = 0;
  for (int i = 0; i < 1000; ++i) {
    test.pass(1ms);
    CHECK(test.take(event_about("other-" + std::to_string(i))).kind == Kind::kCreate);
    for (const auto& record : test.due()) {
      CHECK(record.event.regarding.name == "first");
      CHECK(record.count == 3);
      ++finished;
    }
  }
  CHECK(finished == 1);
  CHECK(test.take(event_about("first")).kind == Kind::kCreate);
  CHECK(test.take(event_about("other-999")).kind == Kind::kPatch);  // the newest are known yet
  CHECK(test.take(event_about("other-100")).kind == Kind::kCreate);
}

TEST_CASE("objects that were silenced are not forgiven because of a crowd of others") {
  EventOptions options;
  options.max_remembered = 100;
  options.burst = 2;
  Correlation test(options);
  for (int i = 0; i < 40; ++i) {
    test.take(event_about("quiet-" + std::to_string(i)));
  }
  test.pass(1s);
  for (int i = 0; i < 3; ++i) test.take(event_about("loud", std::to_string(i)));
  for (int i = 0; i < 61; ++i) {
    test.pass(1ms);
    test.take(event_about("late-" + std::to_string(i)));
    test.due();
  }
  CHECK(test.take(event_about("loud", "again")).kind == Kind::kRateLimited);
}

}  // namespace
}  // namespace muster::kube::event_series_test
