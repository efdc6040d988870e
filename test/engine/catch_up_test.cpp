#include "engine/catch_up.h"

#include <doctest/doctest.h>

#include "kinds/watched_kinds.h"
#include "test/engine/served_engine.h"

namespace catch_up_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;

namespace {

// Of a Workload of one pod with this many cpus.
json admitted(const char* cpu) {
  json conditions = json::array();
  for (const std::string type : {"QuotaReserved", "Admitted"})
    conditions.push_back(condition_at("2026-01-01T12:00:00Z", type, "True", "Told"));
  return {{"conditions", conditions}, {"admission", admission_of(1, {{"cpu", "f"}}, {{"cpu", cpu}})}};
}

}  // namespace

TEST_CASE("catch up: each kind has to reach the term that is awaited, or one after it") {
  CatchUp catch_up({&kJobs, &kWorkloads});
  CHECK(catch_up.done());
  catch_up.await(2);
  CHECK(catch_up.behind() == std::vector<const ResourceType*>{&kJobs, &kWorkloads});
  catch_up.caught_up(kJobs, 1);
  catch_up.caught_up(kWorkloads, 3);
  CHECK(catch_up.behind() == std::vector<const ResourceType*>{&kJobs});
  catch_up.caught_up(kJobs, 2);
  catch_up.caught_up(kJobs, 1);  // late news of an earlier one
  CHECK(catch_up.done());
  catch_up.await(3);
  CHECK(catch_up.behind() == std::vector<const ResourceType*>{&kJobs});
  catch_up.caught_up(kJobs, KindCaughtUp::kForever);
  CHECK(catch_up.done());
  catch_up.await(0);
  CHECK(catch_up.done());
}

TEST_CASE("a new leader admits nobody before each kind has caught up with its term") {
  ServedEngine served;
  served.put_queues("1");
  served.engine.apply(LeadershipChanged{false}, served.now());
  served.put_workload("late", "1");
  served.engine.apply(LeadershipChanged{true, 1}, served.now());
  for (const WatchedKind& kind : watched_kinds()) {
    INFO(kind.type->plural);
    served.plan();
    CHECK(served.writes.empty());
    CHECK_FALSE(served.engine.next_tick());
    CHECK(served.engine.kinds().behind().size() > 0);
    // The leader before it gave the quota to another, and the watch of Workloads tells of it just now.
    if (*kind.type == kWorkloads) served.put_workload("first", "1", json::object(), admitted("1"));
    served.engine.apply(KindCaughtUp{kind.type, 1}, served.now());
  }
  CHECK(served.engine.kinds().behind().empty());
  served.settle();
  CHECK(served.condition_of("late", "QuotaReserved").empty());
  served.vanish(kWorkloads, "first");
  served.settle();
  CHECK(served.condition_of("late", "QuotaReserved") == "True QuotaReserved");
}

}  // namespace catch_up_test
