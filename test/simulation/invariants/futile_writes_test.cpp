// Whether the invariant would notice writes that come to nothing.
#include "test/world/invariants/futile_writes.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "test/world/timeline.h"

namespace futile_writes_test {

using namespace muster;
using namespace muster::world;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

struct Watched {
  Watched() {
    server.on_change([this](const Change& change) { futile.see(change, by_muster); });
    for (const char* ns : {"default"})
      server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}});
  }

  // As muster would.
  void carry_out(const reconcilers::Write& write) {
    by_muster = true;
    const ObjectPtr before = server.get(write.target);
    const Answer answer = server.carry_out(write, {.user = "muster"});
    by_muster = false;
    futile.see_write(write, answer, before);
  }
  void pass(Duration duration) { timeline.move_to(timeline.time() + duration); }

  Timeline timeline{TimePoint(std::chrono::hours(500'000))};
  ApiServer server{timeline, {}};
  std::vector<std::string> told;
  FutileWrites futile{server, timeline, [this](std::string what) { told.push_back(std::move(what)); }};
  bool by_muster = false;
};

json owned(const char* kind, const std::string& name) {
  return {
      {"name", name},
      {"namespace", "default"},
      {"ownerReferences",
       {{{"apiVersion", "apps/v1"}, {"kind", kind}, {"name", "set"}, {"uid", "uid-of-set"}, {"controller", true}}}}};
}

reconcilers::Write refused_job(int number) {
  const std::string name = "job-" + std::to_string(number);
  return {.verb = reconcilers::Verb::kCreate,
          .target = {&kJobs, "default", name},
          .body = {{"apiVersion", "batch/v1"},
                   {"kind", "Job"},
                   {"metadata", owned("JobSet", name)},
                   {"spec", {{"completionMode", "Indexed"}, {"parallelism", 1}, {"template", json::object()}}}}};
}

json gated_pod(int number) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", owned("ReplicaSet", "pod-" + std::to_string(number))},
          {"spec",
           {{"schedulingGates", {{{"name", "kueue.x-k8s.io/admission"}}}},
            {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
}

}  // namespace

TEST_CASE("futile writes: 120 refusals a minute for one object are allowed, and one more is not") {
  Watched watched;
  for (int i = 0; i < 120; ++i) watched.carry_out(refused_job(i));
  CHECK(watched.told.empty());
  watched.pass(61s);
  for (int i = 0; i < 120; ++i) watched.carry_out(refused_job(i));
  CHECK(watched.told.empty());
  watched.carry_out(refused_job(0));
  REQUIRE(watched.told.size() == 1);
  CHECK(watched.told[0] ==
        "more than 120 writes of muster for JobSet set uid-of-set within a minute were refused or undone");
}

TEST_CASE("futile writes: deletes count when what was made again is deleted too") {
  for (const bool made_again : {false, true}) {
    Watched watched;
    int made = 0, deleted = 0;
    for (; made < 300; ++made) REQUIRE(watched.server.create(gated_pod(made)).done());
    for (int round = 0; round < 300; ++round) {
      const ObjectKey key{&kPods, "default", "pod-" + std::to_string(deleted++)};
      watched.carry_out(
          {.verb = reconcilers::Verb::kDelete, .target = key, .uid = (*watched.server.get(key))["metadata"]["uid"]});
    }
    CHECK(watched.told.empty());
    for (int round = 0; round < 150 && made_again; ++round) {
      REQUIRE(watched.server.create(gated_pod(made)).done());
      const ObjectKey key{&kPods, "default", "pod-" + std::to_string(made++)};
      watched.carry_out(
          {.verb = reconcilers::Verb::kDelete, .target = key, .uid = (*watched.server.get(key))["metadata"]["uid"]});
    }
    CHECK(watched.told.size() == (made_again ? 1 : 0));
  }
}

}  // namespace futile_writes_test
