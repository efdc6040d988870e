#include "engine/lanes.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace muster;
using std::chrono::milliseconds;

namespace {

MonotonicTime at(int ms) {
  return MonotonicTime(milliseconds(ms));
}

ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

std::vector<std::string> names(const std::vector<ObjectKey>& keys) {
  std::vector<std::string> found;
  for (const ObjectKey& one : keys) found.push_back(one.name);
  return found;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("lanes: keys come in the order in which they were wanted and each once") {
  Lanes lanes;
  for (const char* name : {"b", "a", "b"}) lanes.want(key(name));
  CHECK(names(lanes.take_due(at(0))) == Names{"b", "a"});
  CHECK(lanes.take_due(at(0)).empty());
  CHECK_FALSE(lanes.next().has_value());
}

TEST_CASE("lanes: keys of one name in many namespaces are told apart by their hashes") {
  std::set<size_t> hashes;
  for (int i = 0; i < 1000; ++i)
    hashes.insert(ObjectKeyHash{}({&kLocalQueues, "team-" + std::to_string(i), "default"}));
  CHECK(hashes.size() == 1000);
}

TEST_CASE("lanes: a timer wants its key when it is due and the earlier of two holds") {
  Lanes lanes;
  lanes.want_at(key("a"), at(50));
  lanes.want_at(key("a"), at(20));
  lanes.want_at(key("a"), at(90));
  REQUIRE(lanes.next() == at(20));
  CHECK(lanes.take_due(at(19)).empty());
  CHECK(names(lanes.take_due(at(20))) == Names{"a"});
  CHECK_FALSE(lanes.next().has_value());
}

TEST_CASE("lanes: a key that is reconciled forgets its timer") {
  Lanes lanes;
  lanes.want_at(key("a"), at(50));
  lanes.want(key("a"));
  CHECK(names(lanes.take_due(at(0))) == Names{"a"});
  CHECK_FALSE(lanes.next().has_value());
}

TEST_CASE("lanes: a key waits for all of its writes and is then wanted again") {
  Lanes lanes;
  lanes.write_started(key("a"));
  lanes.write_started(key("a"));
  lanes.want(key("a"));
  CHECK(lanes.take_due(at(0)).empty());
  lanes.write_finished(key("a"), Lanes::Result::kDone, at(1));
  CHECK(lanes.take_due(at(1)).empty());
  lanes.write_finished(key("a"), Lanes::Result::kDone, at(2));
  CHECK(names(lanes.take_due(at(2))) == Names{"a"});
}

TEST_CASE("lanes: after each failure in a row a key waits twice as long and at most a minute") {
  Lanes lanes;
  MonotonicTime now = at(0);
  for (int failures = 1; failures <= 14; ++failures) {
    lanes.write_started(key("a"));
    lanes.write_finished(key("a"), Lanes::Result::kFailed, now);
    const Duration expected = failures <= 11 ? Duration(milliseconds(50 << (failures - 1))) : std::chrono::seconds(60);
    const MonotonicTime due = now + std::min<Duration>(expected, std::chrono::seconds(60));
    INFO("failure " << failures);
    CHECK(lanes.take_due(due - milliseconds(1)).empty());
    REQUIRE(lanes.next() == due);
    CHECK(names(lanes.take_due(due)) == Names{"a"});
    now = due;
  }
  lanes.write_started(key("a"));
  lanes.write_finished(key("a"), Lanes::Result::kDone, now);
  CHECK(names(lanes.take_due(now)) == Names{"a"});
}

TEST_CASE("lanes: a key that rests is asked again when the rest is over whatever it wants") {
  Lanes lanes;
  lanes.want(key("a"));
  CHECK(lanes.take_due(at(0)).size() == 1);
  lanes.write_started(key("a"));
  lanes.rest(key("a"), at(10));
  lanes.write_finished(key("a"), Lanes::Result::kDone, at(1));
  lanes.want(key("a"));
  CHECK(lanes.take_due(at(2)).empty());
  CHECK(lanes.next() == at(10));
  CHECK(lanes.take_due(at(10)).size() == 1);
  CHECK(lanes.take_due(at(11)).empty());
}

TEST_CASE("lanes: other keys do not wait for one that has failed") {
  Lanes lanes;
  lanes.write_started(key("a"));
  lanes.write_finished(key("a"), Lanes::Result::kFailed, at(0));
  lanes.want(key("b"));
  CHECK(names(lanes.take_due(at(0))) == Names{"b"});
}

TEST_CASE("lanes: what is outdated waits for a change or a second") {
  Lanes lanes;
  lanes.write_started(key("a"));
  lanes.write_finished(key("a"), Lanes::Result::kOutdated, at(0));
  CHECK(lanes.take_due(at(900)).empty());
  SUBCASE("the watch shows a newer version") {
    lanes.want(key("a"));
    CHECK(lanes.take_due(at(901)).size() == 1);
  }
  SUBCASE("nothing comes") {
    CHECK(lanes.take_due(at(999)).empty());
    CHECK(lanes.take_due(at(1000)).size() == 1);
  }
}
