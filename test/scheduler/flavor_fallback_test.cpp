// Flavors that have failed for a Workload (KEP-2560): the scheduler passes them over and does
// nothing else differently.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "scheduler/views/flavor_options.h"
#include "test/scheduler/scheduler_fixture.h"

namespace flavor_fallback_test {

using namespace muster;
using namespace muster::scheduler;
using test::admission;
using test::at;
using test::Cluster;

namespace {

void fail(Workload& workload, const std::string& queue, const std::vector<std::string>& flavors) {
  workload.status.flavors = {.attempts = {}, .fallback = FlavorFallbackState{.cluster_queue = queue}};
  for (const std::string& flavor : flavors)
    workload.status.flavors.attempts.push_back(
        {.flavor = flavor,
         .assigned_at = {},
         .failure = FlavorFailure{.reason = "TimeoutForPodsReadyExceeded", .time = {}}});
}

Workload with_failed(const char* name, const std::vector<std::string>& flavors, const char* queue = "q") {
  Workload made = test::workload(name, queue);
  fail(made, queue, flavors);
  return made;
}

std::string flavor_of(const Admitted& admitted) {
  return admitted.admission.pod_sets.at(0).flavors.at("cpu");
}

// Three flavors, this many cores each.
class ThreeFlavors : public Cluster {
 public:
  ThreeFlavors(int64_t reservation, int64_t spot, int64_t on_demand) {
    for (const char* name : {"reservation", "spot", "on-demand"}) put(test::resource_flavor(name));
    put(test::cluster_queue("q", "", {{"reservation", reservation}, {"spot", spot}, {"on-demand", on_demand}}));
  }
};

// All that a turn has decided, flavors and reasons included.
std::string outcome(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& decision : decisions) {
    if (const auto* admitted = std::get_if<Admitted>(&decision)) {
      text += "+" + admitted->workload->meta.name;
      for (const PodSetAssignment& pod_set : admitted->admission.pod_sets) {
        for (const auto& [resource, flavor] : pod_set.flavors) text += ":" + resource + "=" + flavor;
        text += "*" + std::to_string(pod_set.count.value_or(-1));
      }
    } else if (const auto* preempted = std::get_if<Preempted>(&decision)) {
      text += "-" + preempted->workload->meta.name;
    } else if (const auto* pending = std::get_if<Pending>(&decision)) {
      text += "?" + pending->workload->meta.name + ":" + std::string(to_text(pending->reason)) + ":" +
              std::string(to_text(pending->requeued));
    }
    text += " ";
  }
  return text;
}

}  // namespace

TEST_CASE("flavor fallback: a failed flavor is passed over and an earlier one is tried first") {
  ThreeFlavors full(0, 8, 8);
  full.put(with_failed("w", {"spot"}), 2);
  CHECK(flavor_of(admission(full.scheduler.drain(at(0)))) == "on-demand");
  ThreeFlavors free_again(8, 8, 8);
  free_again.put(with_failed("w", {"spot"}), 2);
  CHECK(flavor_of(admission(free_again.scheduler.drain(at(0)))) == "reservation");
}

TEST_CASE("flavor fallback: a history of another ClusterQueue says nothing") {
  ThreeFlavors cluster(0, 8, 8);
  Workload moved = test::workload("w", "q");
  fail(moved, "former", {"spot"});
  cluster.put(moved, 2);
  CHECK(flavor_of(admission(cluster.scheduler.drain(at(0)))) == "spot");
}

TEST_CASE("flavor fallback: the others of its kind are not held up by who has no flavor left") {
  ThreeFlavors cluster(0, 8, 0);
  cluster.put(with_failed("a", {"spot"}), 2);
  CHECK(cluster.drain() == "?a:noFit");
  // The same but for its history: were it of the same shape, it would be parked unseen.
  cluster.put(test::workload("b", "q", 0, 1), 2);
  CHECK(flavor_of(admission(cluster.scheduler.drain(at(1)))) == "spot");
}

TEST_CASE("flavor fallback: a new round wakes the Workload and begins with the first flavor") {
  ThreeFlavors cluster(8, 8, 0);
  cluster.put(with_failed("w", {"reservation", "spot"}), 2);
  CHECK(cluster.drain() == "?w:noFit");
  cluster.put(with_failed("w", {}), 2);
  CHECK(flavor_of(admission(cluster.scheduler.drain(at(1)))) == "reservation");
}

TEST_CASE("flavor fallback: the options are what the queue could ever give, whatever is in use") {
  ThreeFlavors cluster(1, 8, 8);
  ResourceFlavor tainted = test::resource_flavor("on-demand");
  tainted.node_taints.push_back({.key = "only", .value = "others", .effect = "NoSchedule"});
  tainted.meta.generation = 2;
  cluster.put(tainted);
  cluster.put(test::workload("runs", "q"), 8);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 8);
  cluster.put(with_failed("w", {"spot"}), 2);
  cluster.drain(1);
  CHECK(flavor_options(cluster.scheduler.state(), "team", "w") ==
        std::vector<FlavorOptions>{{.pod_set = "main", .assigned = "", .eligible = {"spot"}}});
  CHECK(flavor_options(cluster.scheduler.state(), "team", "runs") ==
        std::vector<FlavorOptions>{{.pod_set = "main", .assigned = "spot", .eligible = {"spot"}}});
  CHECK(flavor_options(cluster.scheduler.state(), "team", "nobody").empty());
}

TEST_CASE("flavor fallback: with partial admission a flavor with room for the smallest size is an option") {
  ThreeFlavors cluster(4, 8, 1);
  // Quota is counted from the first turn on.
  cluster.put(test::workload("first", "q"), 1);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 1);
  Workload asks = test::workload("w", "q");
  asks.pod_sets[0].count = 6;
  asks.pod_sets[0].min_count = 3;
  fail(asks, "q", {"spot"});
  cluster.put(asks, 1);
  CHECK(flavor_options(cluster.scheduler.state(), "team", "w") ==
        std::vector<FlavorOptions>{{.pod_set = "main", .assigned = "", .eligible = {"reservation", "spot"}}});
  // Of the flavors that have not failed only the reservation has room, for three pods.
  const Admitted admitted = admission(cluster.scheduler.drain(at(0)));
  CHECK(flavor_of(admitted) == "reservation");
  CHECK(admitted.admission.pod_sets[0].count == 3);
  cluster.confirm(admitted, 1);
  CHECK(
      flavor_options(cluster.scheduler.state(), "team", "w") ==
      std::vector<FlavorOptions>{{.pod_set = "main", .assigned = "reservation", .eligible = {"reservation", "spot"}}});
}

// The whole effect: a history that excludes flavors is the same as a queue that does not have them.
TEST_CASE("flavor fallback: a Workload gets what a queue without the failed flavors would give it") {
  const bool holds = rc::check([] {
    constexpr int kFlavors = 4;
    std::vector<std::string> names, failed;
    std::vector<test::Limits> all, without;
    static const char* const kNames[kFlavors] = {"f0", "f1", "f2", "f3"};
    for (const char* name : kNames) {
      test::Limits limits{.flavor = name, .nominal = *rc::gen::inRange(0, 6)};
      if (*rc::gen::arbitrary<bool>()) limits.borrowing = *rc::gen::inRange(0, 4);
      all.push_back(limits);
      if (*rc::gen::arbitrary<bool>())
        failed.emplace_back(name);
      else
        without.push_back(limits);
    }
    RC_PRE(!without.empty());
    FlavorFungibility fungibility{.try_next_when_can_borrow = *rc::gen::arbitrary<bool>(),
                                  .try_next_when_can_preempt = *rc::gen::arbitrary<bool>()};
    if (fungibility.try_next_when_can_borrow && fungibility.try_next_when_can_preempt && *rc::gen::arbitrary<bool>())
      fungibility.preference = FungibilityPreference::kPreemptionOverBorrowing;
    ClusterQueuePreemption preemption{
        .within_cluster_queue = *rc::gen::element(PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority),
        .reclaim_within_cohort = *rc::gen::element(PreemptionPolicy::kNever, PreemptionPolicy::kAny),
        .max_priority_threshold = {}};
    const auto lender = *rc::gen::container<std::vector<int>>(kFlavors, rc::gen::inRange(0, 6));
    const auto loads = *rc::gen::container<std::vector<int>>(3, rc::gen::inRange(1, 6));
    const int cores = *rc::gen::inRange(1, 6), pods = *rc::gen::inRange(1, 4);
    const bool partial = *rc::gen::arbitrary<bool>();

    const auto run = [&](const std::vector<test::Limits>& limits, const std::vector<std::string>& history) {
      Cluster cluster;
      std::vector<test::Limits> lent;
      for (int i = 0; i < kFlavors; ++i) {
        cluster.put(test::resource_flavor(kNames[i]));
        lent.push_back({.flavor = kNames[i], .nominal = lender[i]});
      }
      cluster.put(test::cluster_queue("lender", "team", lent));
      ClusterQueue queue = test::cluster_queue("q", "team", limits);
      queue.fungibility = fungibility;
      queue.preemption = preemption;
      cluster.put(queue);
      // Who is there already uses flavors that the Workload has not lost.
      for (size_t i = 0; i < loads.size(); ++i) {
        Workload load = test::workload("load" + std::to_string(i), "q", 0, static_cast<int64_t>(i));
        fail(load, "q", history);
        cluster.put(load, loads[i]);
        for (const Decision& decision : cluster.scheduler.drain(at(static_cast<int64_t>(i)))) {
          if (const auto* admitted = std::get_if<Admitted>(&decision)) cluster.confirm(*admitted, loads[i]);
        }
      }
      Workload asks = test::workload("w", "q", 1, 10);
      asks.pod_sets[0].count = pods;
      if (partial) asks.pod_sets[0].min_count = 1;
      fail(asks, "q", history);
      cluster.put(asks, cores, 10);
      std::string told;
      for (int turn = 0; turn < 8; ++turn) told += outcome(cluster.scheduler.cycle(at(11 + turn))) + "| ";
      return told + outcome(cluster.scheduler.drain(at(30)));
    };
    RC_ASSERT(run(all, failed) == run(without, {}));
  });
  CHECK(holds);
}

}  // namespace flavor_fallback_test
