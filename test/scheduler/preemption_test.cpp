// Whom a Workload can evict: classic preemption and fair sharing.
#include "scheduler/preemption/preemption.h"

#include <doctest/doctest.h>

#include <cmath>

#include "scheduler/preemption/fair_sharing.h"
#include "test/scheduler/scheduler_fixture.h"

namespace preemption_test {

using namespace muster;
using namespace muster::scheduler;
using test::at;
using test::Cluster;
using test::cluster_queue;
using test::workload;

namespace {

// Admits and confirms everything that fits.
void run(Cluster& cluster, int64_t cores, int64_t seconds) {
  for (const Decision& decision : cluster.scheduler.drain(at(seconds))) {
    if (const auto* admitted = std::get_if<Admitted>(&decision)) cluster.confirm(*admitted, cores, seconds);
  }
}

struct Policies {
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::kNever;
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::kNever;
  PreemptionPolicy borrow_within_cohort = PreemptionPolicy::kNever;
  std::optional<int32_t> max_priority_threshold{};
};

ClusterQueue with(ClusterQueue queue, const Policies& policies) {
  queue.preemption.within_cluster_queue = policies.within_cluster_queue;
  queue.preemption.reclaim_within_cohort = policies.reclaim_within_cohort;
  queue.preemption.borrow_within_cohort = policies.borrow_within_cohort;
  queue.preemption.max_priority_threshold = policies.max_priority_threshold;
  return queue;
}

// "victim:reason" of each eviction.
std::string evictions(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& decision : decisions) {
    if (const auto* preempted = std::get_if<Preempted>(&decision))
      text += preempted->workload->meta.name + ":" + std::string(to_text(preempted->reason)) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("preemption: a Workload that lacks nothing but pods has as many Workloads evicted as hold them") {
  Cluster cluster;
  ClusterQueue queue =
      with(cluster_queue("a", "", {{.nominal = 100}}), {.within_cluster_queue = PreemptionPolicy::kLowerPriority});
  queue.resource_groups[0].covered_resources.push_back("pods");
  queue.resource_groups[0].flavors[0].resources.push_back(
      {.name = "pods", .nominal = Quantity::of(3), .borrowing_limit = {}, .lending_limit = {}});
  cluster.put(queue);
  for (const char* name : {"a1", "a2", "a3"}) {
    cluster.put(workload(name, "a"), 1);
    run(cluster, 1, 0);
  }
  Workload wide = workload("wide", "a", 10, 5);
  wide.pod_sets[0].count = 2;
  cluster.put(wide, 1);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(10));
  CHECK(std::count_if(decisions.begin(), decisions.end(),
                      [](const Decision& decision) { return std::holds_alternative<Preempted>(decision); }) == 2);
}

TEST_CASE("preemption: a request of zero of a resource that the queue borrows does not prevent it") {
  const auto groups = [](int64_t cpu, int64_t memory) {
    const auto quota = [](const char* name, int64_t nominal) {
      return ResourceQuota{.name = name, .nominal = Quantity::of(nominal), .borrowing_limit = {}, .lending_limit = {}};
    };
    return std::vector{
        ResourceGroup{.covered_resources = {"cpu", "memory"},
                      .flavors = {{.name = "default", .resources = {quota("cpu", cpu), quota("memory", memory)}}}}};
  };
  Cluster cluster;
  ClusterQueue claimant =
      with(cluster_queue("claimant", "team", {}), {.reclaim_within_cohort = PreemptionPolicy::kLowerPriority});
  claimant.resource_groups = groups(4, 0);
  ClusterQueue lender = cluster_queue("lender", "team", {});
  lender.resource_groups = groups(0, 4);
  cluster.put(claimant);
  cluster.put(lender);
  const auto ask = [&](const Workload& asks, int64_t cores, int64_t bytes) {
    cluster.scheduler.put(std::make_shared<const Workload>(asks), {{{"cpu", cores * 1000}, {"memory", bytes}}}, at(0));
    return cluster.cycle();
  };
  REQUIRE(ask(workload("borrows-memory", "claimant"), 0, 2) == "+borrows-memory");
  REQUIRE(ask(workload("borrows-cpu", "lender"), 4, 0) == "+borrows-cpu");
  CHECK(ask(workload("claims", "claimant", 5), 4, 0) == "-borrows-cpu ?claims:preempting");
}

TEST_CASE("preemption: within a ClusterQueue the policy says who must give way") {
  struct Row {
    const char* what;
    PreemptionPolicy policy;
    int32_t priority;
    int64_t created;
    const char* evicted;
  };
  const Row rows[] = {
      {"never: nobody", PreemptionPolicy::kNever, 9, 0, ""},
      {"lower priority gives way", PreemptionPolicy::kLowerPriority, 6, 20, "running:InClusterQueue "},
      {"equal priority does not", PreemptionPolicy::kLowerPriority, 5, 0, ""},
      {"unless it is newer and the policy says so", PreemptionPolicy::kLowerOrNewerEqualPriority, 5, 5,
       "running:InClusterQueue "},
      {"an older one of equal priority stays", PreemptionPolicy::kLowerOrNewerEqualPriority, 5, 15, ""}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    Cluster cluster;
    cluster.put(with(cluster_queue("a", "", {{.nominal = 4}}), {.within_cluster_queue = row.policy}));
    cluster.put(workload("running", "a", 5, 10), 4);
    run(cluster, 4, 0);
    cluster.put(workload("incoming", "a", row.priority, row.created), 4, 1);
    CHECK_EQ(evictions(cluster.scheduler.cycle(at(1))), std::string(row.evicted));
  }
}

TEST_CASE("preemption: one that cannot be stopped keeps its quota and is never evicted") {
  const auto make = [](bool can_be_stopped) {
    auto cluster = std::make_unique<Cluster>();
    cluster->put(
        with(cluster_queue("a", "", {{.nominal = 4}}), {.within_cluster_queue = PreemptionPolicy::kLowerPriority}));
    run(*cluster, 4, 0);
    Workload low = workload("low", "a", 0, 0);
    cluster->put(low, 4);
    const auto decisions = cluster->scheduler.drain(at(0));
    Workload written = *test::admission(decisions).workload;
    written.status.admission = test::admission(decisions).admission;
    set_condition(
        written.status.conditions,
        {.type = "QuotaReserved", .status = "True", .reason = "QuotaReserved", .message = {}, .last_transition = {}});
    cluster->scheduler.put(std::make_shared<const Workload>(written), {{{"cpu", 4000}}}, at(0), "", can_be_stopped);
    cluster->put(workload("high", "a", 10, 1), 4, 1);
    return cluster;
  };
  CHECK(make(true)->drain(1) == "-low ?high:preempting");
  const auto held = make(false);
  CHECK(held->drain(1) == "?high:preemptNoCandidates");
  CHECK(test::usage_of(held->scheduler, "a", "default", "cpu") == 4000);
}

TEST_CASE("preemption: own quota is reclaimed from those that borrow it") {
  struct Row {
    const char* what;
    Policies preemption;
    int32_t priority;
    int64_t cores;
    const char* evicted;
  };
  const auto any = PreemptionPolicy::kAny, lower = PreemptionPolicy::kLowerPriority;
  const Row rows[] = {
      {"never: nobody", {}, 9, 4, ""},
      {"any: whatever their priority", {.reclaim_within_cohort = any}, 0, 4, "borrower:InCohortReclamation "},
      {"lower priority: not the equal one", {.reclaim_within_cohort = lower}, 5, 4, ""},
      {"lower priority: the lower one", {.reclaim_within_cohort = lower}, 6, 4, "borrower:InCohortReclamation "},
      {"not to borrow oneself", {.reclaim_within_cohort = any}, 9, 6, ""},
      {"unless that is allowed",
       {.reclaim_within_cohort = any, .borrow_within_cohort = lower},
       9,
       6,
       "borrower:InCohortReclaimWhileBorrowing "},
      {"and then only up to the threshold",
       {.reclaim_within_cohort = any, .borrow_within_cohort = lower, .max_priority_threshold = 4},
       9,
       6,
       ""}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    Cluster cluster;
    cluster.put(with(cluster_queue("owner", "team", {{.nominal = 4}}), row.preemption));
    cluster.put(cluster_queue("other", "team", {{.nominal = 4}}));
    cluster.put(workload("borrower", "other", 5, 1), 8);
    run(cluster, 8, 0);
    cluster.put(workload("incoming", "owner", row.priority, 2), row.cores, 1);
    CHECK_EQ(evictions(cluster.scheduler.cycle(at(1))), std::string(row.evicted));
  }
}

TEST_CASE("preemption: no more than needed and the newest of the lowest priority first") {
  Cluster cluster;
  cluster.put(
      with(cluster_queue("a", "", {{.nominal = 6}}), {.within_cluster_queue = PreemptionPolicy::kLowerPriority}));
  for (const char* name : {"one", "two", "three"}) {
    static int64_t seconds = 0;
    cluster.put(workload(name, "a", name[0] == 'o' ? 0 : 1, 1), 2);
    run(cluster, 2, ++seconds);
  }
  cluster.put(workload("incoming", "a", 5, 9), 4, 9);
  CHECK(evictions(cluster.scheduler.cycle(at(9))) == "one:InClusterQueue three:InClusterQueue ");
}

TEST_CASE("preemption: two heads never evict the same Workload twice in one cycle") {
  Cluster cluster;
  for (const char* name : {"a", "b"})
    cluster.put(with(cluster_queue(name, "team", {{.nominal = 2}}), {.reclaim_within_cohort = PreemptionPolicy::kAny}));
  cluster.put(cluster_queue("c", "team", {{.nominal = 0}}));
  cluster.put(workload("borrower", "c", 0, 1), 4);
  run(cluster, 4, 0);
  cluster.put(workload("first", "a", 0, 2), 2, 1);
  cluster.put(workload("second", "b", 0, 3), 2, 1);
  CHECK(cluster.cycle(1) == "-borrower ?first:preempting ?second:deferredFit");
}

TEST_CASE("fair sharing: a share is what is borrowed of what can be lent and by weight") {
  struct Row {
    const char* what;
    int64_t usage;
    double weight, share;
  };
  const Row rows[] = {{"nothing is borrowed", 10, 1, 0},
                      {"a quarter of what the Cohort has", 20, 1, 250},
                      {"at twice the weight half of it", 20, 2, 125},
                      {"at weight zero without end", 11, 0, INFINITY}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    QuotaIdTable names;
    Ledger ledger(names);
    const QuotaId cpu = names.quota(names.flavor("default"), names.resource("cpu"));
    const NodeId queue = ledger.add_queue(), lender = ledger.add_queue();
    ledger.set_queue(queue, "team", {{cpu, 10, kUnlimited, kUnlimited}}, row.weight);
    ledger.set_queue(lender, "team", {{cpu, 30, kUnlimited, kUnlimited}}, 1);
    ledger.add(queue, {{cpu, row.usage}});
    CHECK(dominant_share(names, ledger, queue).weighted() == row.share);
    CHECK(dominant_share(names, ledger, ledger.cohort("team")).weighted() == 0);
  }
}

TEST_CASE("fair sharing: who borrows least comes first") {
  Cluster cluster({.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare}});
  for (const char* name : {"a", "b"}) cluster.put(cluster_queue(name, "team", {{.nominal = 2}}));
  cluster.put(cluster_queue("pool", "team", {{.nominal = 6}}));
  cluster.put(workload("a1", "a", 0, 1), 4);
  run(cluster, 4, 0);
  // The older one of higher priority waits: its queue would have the larger share.
  cluster.put(workload("a2", "a", 9, 2), 4, 1);
  cluster.put(workload("b1", "b", 0, 3), 4, 1);
  CHECK(cluster.cycle(1).substr(0, 3) == "+b1");
}

TEST_CASE("fair sharing: the strategies decide when an unequal share is taken back") {
  const FairStrategy final_share = FairStrategy::kLessThanOrEqualToFinalShare;
  const FairStrategy initial_share = FairStrategy::kLessThanInitialShare;
  struct Row {
    const char* what;
    std::vector<FairStrategy> strategies;
    std::vector<int64_t> running;  // of twelve cores
    const char* evicted;
  };
  const Row rows[] = {
      {"half for half: the other keeps no less", {final_share}, {6, 6}, "running1:InCohortFairSharing "},
      {"all or nothing: the other would have less", {final_share}, {12}, ""},
      {"but it is less than the other has now", {initial_share}, {12}, "running0:InCohortFairSharing "},
      {"the second is asked when the first finds nobody",
       {final_share, initial_share},
       {12},
       "running0:InCohortFairSharing "}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    Cluster cluster({.fair_sharing = row.strategies});
    for (const char* name : {"a", "b"})
      cluster.put(
          with(cluster_queue(name, "team", {{.nominal = 0}}), {.reclaim_within_cohort = PreemptionPolicy::kAny}));
    cluster.put(cluster_queue("pool", "team", {{.nominal = 12}}));
    int64_t seconds = 0;
    for (const int64_t cores : row.running) {
      cluster.put(workload("running" + std::to_string(seconds), "a", 0, seconds), cores);
      run(cluster, cores, seconds++);
    }
    cluster.put(workload("incoming", "b", 0, 10), 6, 10);
    CHECK_EQ(evictions(cluster.scheduler.cycle(at(10))), std::string(row.evicted));
  }
}

}  // namespace preemption_test
