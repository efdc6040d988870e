#include "scheduler/wake_conditions.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <string>

#include "scheduler/reservation.h"
#include "scheduler/state.h"
#include "test/scheduler/scheduler_fixture.h"

namespace wake_conditions_test {

using namespace muster;
using namespace muster::scheduler;

namespace {

constexpr FlavorId kFirst = 0, kSecond = 1;

FlavorRejection short_of(FlavorId flavor, int64_t requested) {
  return {.kind = FlavorRejection::Kind::kNoneUnused, .flavor = flavor, .quota = flavor, .requested = requested};
}
FlavorRejection tainted(FlavorId flavor) {
  return {.kind = FlavorRejection::Kind::kTaint, .flavor = flavor};
}

// A ClusterQueue of one resource in two flavors, with 10 and 20 of them free; alone, or in a
// Cohort that lends it as much again.
struct TwoFlavors {
  SchedulerState state;
  QueueState queue, lender;
  WorkloadState workload;
  std::unique_ptr<WorkloadState> running;  // in the ClusterQueue

  explicit TwoFlavors(const ClusterQueuePreemption& preemption = {}, bool cohort = false, bool fair = false)
      : state(SchedulerSettings{.fair_sharing = fair ? std::vector{FairStrategy::kLessThanInitialShare}
                                                     : std::vector<FairStrategy>{}}) {
    const ResourceId cpu = state.names.resource("cpu");
    std::vector<QuotaLimits> limits;
    for (const char* flavor : {"first", "second"})
      limits.push_back(
          {.quota = state.names.quota(state.names.flavor(flavor), cpu), .nominal = limits.empty() ? 10 : 20});
    ClusterQueue object;
    object.preemption = preemption;
    for (QueueState* each : {&queue, &lender}) {
      each->object = std::make_shared<const ClusterQueue>(object);
      each->node = state.capacity.tree().add_queue();
      state.capacity.tree().set_queue(each->node, cohort ? "cohort" : "", limits, 1);
      each->groups = {{.resources = {cpu}, .flavors = {kFirst, kSecond}}};
    }
    state.capacity.tree().settle();
    workload.object = std::make_shared<const Workload>(test::workload("waits", "a", 5));
    workload.rank = 5;
    workload.queue = &queue;
  }
  void run(int32_t priority) {
    running = std::make_unique<WorkloadState>();
    running->object = std::make_shared<const Workload>(test::workload("runs", "a", priority));
    running->rank = priority;
    reserve(state, *running, queue, {});
  }
  std::optional<std::vector<WakeCondition>> wake_conditions(const std::vector<FlavorRejection>& why) const {
    return wake_conditions_of(state, workload, why);
  }
};

}  // namespace

TEST_CASE("wake conditions: what a refused shape waits for") {
  struct Row {
    std::string name;
    std::vector<FlavorRejection> why;
    std::optional<std::vector<WakeCondition>> wake_conditions;
  };
  const FlavorRejection not_covered{.kind = FlavorRejection::Kind::kNotCovered};
  const FlavorRejection pinned{.kind = FlavorRejection::Kind::kPinned, .flavor = kFirst};
  const std::vector<Row> rows = {
      {"either flavor may become free", {short_of(0, 11), short_of(1, 21)}, {{{0, 11}, {1, 21}}}},
      {"a flavor that is ruled out is not waited for", {tainted(0), short_of(1, 21)}, {{{1, 21}}}},
      {"all flavors are ruled out", {tainted(0), tainted(1)}, {{}}},
      {"no flavor has the resource", {not_covered}, {{}}},
      {"one flavor would do by now", {short_of(0, 10), short_of(1, 21)}, std::nullopt},
      {"of one flavor nothing is known", {short_of(0, 11)}, std::nullopt},
      {"flavors were chosen for the cycle only", {pinned, short_of(1, 21)}, std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(TwoFlavors().wake_conditions(row.why) == row.wake_conditions);
  }
}

TEST_CASE("wake conditions: where evictions may help any release may") {
  using enum PreemptionPolicy;
  struct Row {
    std::string name;
    ClusterQueuePreemption preemption;
    std::optional<int32_t> running;  // its priority; the one that waits has 5
    bool fair = false;
    bool waits = false;  // for wake conditions
  };
  ClusterQueuePreemption within, newer, reclaims;
  within.within_cluster_queue = kLowerPriority;
  newer.within_cluster_queue = kLowerOrNewerEqualPriority;
  reclaims.reclaim_within_cohort = kAny;
  ClusterQueuePreemption borrows = reclaims;
  borrows.borrow_within_cohort = kLowerPriority;
  const std::vector<Row> rows = {
      {"who would borrow takes nothing back", reclaims, {}, false, true},
      {"unless it may evict to borrow", borrows, {}},
      {"with fair sharing it depends on shares", reclaims, {}, true},
      {"a lower priority in its own queue may be evicted", within, 4},
      {"a higher one may not", within, 6, false, true},
      {"an equal one may be newer", newer, 5},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    TwoFlavors two(row.preemption, true, row.fair);
    if (row.running) two.run(*row.running);
    CHECK(two.wake_conditions({short_of(0, 25), short_of(1, 45)}).has_value() == row.waits);
  }
  // What its own quota holds it can take back.
  TwoFlavors two(reclaims, true);
  two.state.capacity.take(two.lender.node, {.quota = {{0, 18}, {1, 38}}});
  CHECK_FALSE(two.wake_conditions({short_of(0, 9), short_of(1, 19)}));
}

// The model looks at all of them.
TEST_CASE("wake conditions: the index finds the first one whose condition is met in any sequence of changes") {
  const bool holds = rc::check([] {
    constexpr int kCount = 20;
    std::vector<std::unique_ptr<WorkloadState>> all;
    for (int i = 0; i < kCount; ++i) {
      auto state = std::make_unique<WorkloadState>();
      state->object = std::make_shared<const Workload>(test::workload("w" + std::to_string(i), "a", i * 7 % 5));
      state->rank = state->object->priority;
      state->shape = {0, static_cast<uint64_t>(i)};
      all.push_back(std::move(state));
    }
    WakeIndex index;
    std::map<int, WakeCondition> waiting;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, kCount), rc::gen::inRange(0, 3), rc::gen::inRange(0, 10)));
    for (const auto& [which, quota, amount] : steps) {
      const auto known = waiting.find(which);
      if (known != waiting.end()) {
        index.remove(known->second, all[which]->shape);
        waiting.erase(known);
      } else {
        waiting[which] = {static_cast<QuotaId>(quota), amount};
        index.add(waiting[which], all[which]->shape, *all[which]);
      }
      const auto reach = [&, of = amount](CapacityKey key) { return (of + static_cast<int64_t>(key.unit) * 3) % 10; };
      WorkloadState* first = nullptr;
      for (const auto& [other, wake_condition] : waiting) {
        if (wake_condition.needed > reach(wake_condition.key)) continue;
        if (first == nullptr || queued_before(*all[other], *first)) first = all[other].get();
      }
      RC_ASSERT(index.first_within(reach) == first);
    }
  });
  CHECK(holds);
}

}  // namespace wake_conditions_test
