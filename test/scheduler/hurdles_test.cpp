#include "scheduler/hurdles.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <string>

#include "scheduler/state.h"
#include "test/scheduler/scheduler_fixture.h"

using namespace muster;

namespace {

constexpr FlavorId kFirst = 0, kSecond = 1;

Obstacle short_of(FlavorId flavor, int64_t requested) {
  return {.kind = Obstacle::Kind::kNoneUnused, .flavor = flavor, .quota = flavor, .requested = requested};
}
Obstacle tainted(FlavorId flavor) {
  return {.kind = Obstacle::Kind::kTaint, .flavor = flavor};
}

// A ClusterQueue of one resource in two flavors, with 10 and 20 of them free.
struct TwoFlavors {
  QuotaNames names;
  Ledger ledger{names};
  QueueState queue;

  TwoFlavors() {
    const ResourceId cpu = names.resource("cpu");
    std::vector<QuotaLimits> limits;
    for (const char* flavor : {"first", "second"})
      limits.push_back({.quota = names.quota(names.flavor(flavor), cpu), .nominal = limits.empty() ? 10 : 20});
    queue.object = std::make_shared<const ClusterQueue>();
    queue.node = ledger.add_queue();
    ledger.set_queue(queue.node, "", limits, 1);
    ledger.settle();
    queue.groups = {{.resources = {cpu}, .flavors = {kFirst, kSecond}}};
  }
};

}  // namespace

TEST_CASE("hurdles: what a refused shape waits for") {
  struct Row {
    std::string name;
    std::vector<Obstacle> why;
    std::optional<std::vector<Hurdle>> hurdles;
  };
  const Obstacle not_covered{.kind = Obstacle::Kind::kNotCovered};
  const Obstacle pinned{.kind = Obstacle::Kind::kPinned, .flavor = kFirst};
  const std::vector<Row> rows = {
      {"either flavor may become free", {short_of(0, 11), short_of(1, 21)}, {{{0, 11}, {1, 21}}}},
      {"a flavor that is ruled out is not waited for", {tainted(0), short_of(1, 21)}, {{{1, 21}}}},
      {"all flavors are ruled out", {tainted(0), tainted(1)}, {{}}},
      {"no flavor has the resource", {not_covered}, {{}}},
      {"one flavor would do by now", {short_of(0, 10), short_of(1, 21)}, std::nullopt},
      {"of one flavor nothing is known", {short_of(0, 11)}, std::nullopt},
      {"flavors were chosen for the cycle only", {pinned, short_of(1, 21)}, std::nullopt},
  };
  const TwoFlavors two;
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(hurdles_of(two.ledger, two.queue, row.why) == row.hurdles);
  }
}

TEST_CASE("hurdles: where evictions may help any release may") {
  for (const bool within : {true, false}) {
    TwoFlavors two;
    ClusterQueue object;
    (within ? object.preemption.within_cluster_queue : object.preemption.reclaim_within_cohort) =
        PreemptionPolicy::kLowerPriority;
    two.queue.object = std::make_shared<const ClusterQueue>(object);
    CHECK_FALSE(hurdles_of(two.ledger, two.queue, {tainted(0), tainted(1)}));
  }
}

// The model looks at all of them.
TEST_CASE("hurdles: the index finds the first one whose hurdle fell in any sequence of changes") {
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
    HurdleIndex index;
    std::map<int, Hurdle> waiting;
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
      const auto reach = [&, of = amount](QuotaId id) { return (of + static_cast<int64_t>(id) * 3) % 10; };
      WorkloadState* first = nullptr;
      for (const auto& [other, hurdle] : waiting) {
        if (hurdle.needed > reach(hurdle.quota)) continue;
        if (first == nullptr || queued_before(*all[other], *first)) first = all[other].get();
      }
      RC_ASSERT(index.first_within(reach) == first);
    }
  });
  CHECK(holds);
}
