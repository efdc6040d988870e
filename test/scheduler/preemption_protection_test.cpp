// Protection from early preemption: who is no victim yet, for how long, and that every preemptor is served.
#include "scheduler/preemption/protection.h"
#include "scheduler/views/explanation.h"

#include <doctest/doctest.h>

#include <string>

#include "test/scheduler/protected_cluster.h"

namespace preemption_protection_test {

using namespace muster;
using namespace muster::scheduler;
using namespace std::chrono_literals;
using test::at;
using test::Cluster;
using test::cluster_queue;
using test::of_class;
using test::ProtectedCluster;
using test::protecting;
using test::workload;

namespace {

std::optional<MonotonicTime> in(int64_t seconds) {
  return at(seconds).monotonic;
}
}  // namespace

TEST_CASE("protection: a preemptor waits until its victim has run for the protected time") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  cluster.add(workload("victim", "q"), 10, 0);
  CHECK(cluster.run(0) == "+victim");
  cluster.add(workload("urgent", "q", 100), 10, 10);
  CHECK(cluster.run(10) == "?urgent:preemptNoCandidates");
  CHECK(cluster.reason_of("urgent") == "WaitingForProtectedWorkloads");
  CHECK(cluster.message_of("urgent").find(
            "The workloads that it could preempt are protected, the first of them until 2027-01-15T08:01:00Z") !=
        std::string::npos);
  CHECK(explain_pending(cluster.scheduler.state(), "team", "urgent")->outlook.find("2027-01-15T08:01:00Z") !=
        std::string::npos);
  // Nothing is decided before, and nothing but the time is needed.
  CHECK(cluster.scheduler.next_wake() == in(60));
  CHECK(cluster.run(59).empty());
  CHECK(cluster.run(60) == "-victim ?urgent:preempting");
  CHECK_FALSE(cluster.scheduler.next_wake());
}

TEST_CASE("protection: with nothing configured nobody is protected and no time is waited for") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {}));
  cluster.add(workload("victim", "q"), 10, 0);
  CHECK(cluster.run(0) == "+victim");
  cluster.add(workload("urgent", "q", 100), 10, 0);
  CHECK(cluster.run(0) == "-victim ?urgent:preempting");
  CHECK_FALSE(cluster.scheduler.next_wake());
}

TEST_CASE("protection: the victim's class comes before its ClusterQueue and the preemptor's queue caps both") {
  struct Row {
    const char* what;
    PreemptionProtection queue;
    PreemptionProtection its_class;
    const char* kind;
    int64_t ends;  // 0: it is not protected
  };
  const Row rows[] = {
      {"the queue alone", {.in_queue = 60s}, {}, "WorkloadPriorityClass", 60},
      {"a class that protects less", {.in_queue = 60s}, {.in_queue = 20s}, "WorkloadPriorityClass", 20},
      {"a class that does not protect", {.in_queue = 60s}, {.in_queue = 0s}, "WorkloadPriorityClass", 0},
      {"a class that wants more than the queue grants",
       {.in_queue = 60s},
       {.in_queue = 1h},
       "WorkloadPriorityClass",
       60},
      {"the same, and the queue respects more",
       {.in_queue = 60s, .limit = 300s},
       {.in_queue = 1h},
       "WorkloadPriorityClass",
       300},
      {"a limit below the queue's own value", {.in_queue = 60s, .limit = 15s}, {}, "WorkloadPriorityClass", 15},
      {"a limit of nothing", {.in_queue = 60s, .limit = 0s}, {}, "WorkloadPriorityClass", 0},
      {"a class where the queue grants nothing", {}, {.in_queue = 1h}, "WorkloadPriorityClass", 0},
      {"a class alone, within a limit", {.limit = 100s}, {.in_queue = 1h}, "WorkloadPriorityClass", 100},
      {"a class of pods of the same name", {.in_queue = 60s}, {.in_queue = 20s}, "PriorityClass", 60},
      {"protection from reclaim only", {.reclaim = 60s}, {.reclaim = 60s}, "WorkloadPriorityClass", 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    ProtectedCluster cluster;
    cluster.put_class("gold", row.its_class);
    cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), row.queue));
    cluster.add(of_class(workload("victim", "q"), "gold", row.kind), 10, 0);
    CHECK(cluster.run(0) == "+victim");
    cluster.add(workload("urgent", "q", 100), 10, 0);
    const bool waits = row.ends > 0;
    CHECK(cluster.run(0) == (waits ? "?urgent:preemptNoCandidates" : "-victim ?urgent:preempting"));
    CHECK(cluster.scheduler.next_wake() == (waits ? in(row.ends) : std::nullopt));
  }
}

TEST_CASE("protection: borrowed quota is reclaimed at once unless both queues say something else") {
  struct Row {
    const char* what;
    PreemptionProtection borrower;
    PreemptionProtection owner;
    int64_t ends;
  };
  const Row rows[] = {
      {"protection within the queue", {.in_queue = 60s}, {.in_queue = 60s}, 0},
      {"the owner of the quota has not agreed", {.reclaim = 60s}, {}, 0},
      {"the owner respects as much as it grants", {.reclaim = 60s}, {.reclaim = 20s}, 20},
      {"the owner respects more", {.reclaim = 60s}, {.limit = 40s}, 40},
      {"the owner asks for more than the borrower", {.reclaim = 30s}, {.reclaim = 60s}, 30},
  };
  for (const bool fair : {false, true}) {
    for (const Row& row : rows) {
      CAPTURE(row.what);
      CAPTURE(fair);
      ProtectedCluster cluster(fair ? SchedulerSettings{.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare}}
                                    : SchedulerSettings{});
      cluster.put(protecting(cluster_queue("borrower", "all", {{.nominal = 0}}), row.borrower));
      cluster.put(protecting(cluster_queue("owner", "all", {{.nominal = 10}}), row.owner));
      cluster.add(workload("victim", "borrower"), 10, 0);
      CHECK(cluster.run(0) == "+victim");
      cluster.add(workload("entitled", "owner"), 10, 0);
      const bool waits = row.ends > 0;
      CHECK(cluster.run(0) == (waits ? "?entitled:preemptNoCandidates" : "-victim ?entitled:preempting"));
      CHECK(cluster.scheduler.next_wake() == (waits ? in(row.ends) : std::nullopt));
      if (waits) CHECK(cluster.run(row.ends) == "-victim ?entitled:preempting");
    }
  }
}

TEST_CASE("protection: of several victims the first to become free is named and those that suffice are taken") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  cluster.add(workload("first", "q"), 5, 0);
  CHECK(cluster.run(0) == "+first");
  cluster.add(workload("second", "q"), 5, 30);
  CHECK(cluster.run(30) == "+second");
  cluster.add(workload("urgent", "q", 100), 10, 40);
  CHECK(cluster.run(40) == "?urgent:preemptNoCandidates");
  CHECK(cluster.scheduler.next_wake() == in(60));
  // One is not enough, and is not evicted in vain.
  CHECK(cluster.run(60) == "?urgent:preemptNoCandidates");
  CHECK(cluster.scheduler.next_wake() == in(90));
  CHECK(cluster.run(90) == "-second -first ?urgent:preempting");
}

TEST_CASE("protection: what is admitted while a preemptor waits does not make it wait longer") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  cluster.add(workload("a", "q"), 5, 0);
  cluster.run(0);
  cluster.add(workload("b", "q"), 5, 30);
  cluster.run(30);
  cluster.add(workload("urgent", "q", 100), 10, 40);
  CHECK(cluster.run(40) == "?urgent:preemptNoCandidates");
  // A tenant whose Jobs follow each other, so that one of them is protected at any time.
  cluster.finish("a");
  cluster.add(workload("c", "q"), 5, 50);
  CHECK(cluster.run(50).find("+c") != std::string::npos);
  CHECK(cluster.run(89).find('-') == std::string::npos);
  // `c` is protected from it until 40 + 60.
  CHECK(cluster.run(90) == "?urgent:preemptNoCandidates");
  CHECK(cluster.scheduler.next_wake() == in(100));
  CHECK(cluster.run(100) == "-c -b ?urgent:preempting");
  // From others it is protected.
  ProtectedCluster other;
  other.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  other.add(workload("c", "q"), 5, 50);
  other.run(50);
  other.add(workload("late", "q", 100), 10, 60);
  CHECK(other.run(60) == "?late:preemptNoCandidates");
}

TEST_CASE("protection: a Workload that has quota and no admission yet has run nothing and is not protected") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  Workload checked = workload("checked", "q");
  checked.status.admission = Admission{.cluster_queue = "q", .pod_sets = {}};
  checked.status.admission->pod_sets.push_back(
      {.name = "main", .flavors = {{"cpu", "default"}}, .resource_usage = {{"cpu", Quantity::of(10)}}, .count = 1});
  set_condition(checked.status.conditions, {.type = "QuotaReserved",
                                            .status = "True",
                                            .reason = "QuotaReserved",
                                            .message = {},
                                            .last_transition = to_timestamp(at(0).wall)});
  cluster.put(checked, 10, 0);
  cluster.add(workload("urgent", "q", 100), 10, 1);
  CHECK(cluster.run(1) == "-checked ?urgent:preempting");
}

TEST_CASE("protection: it counts from the stamp of the admission also in a process that has just begun") {
  ProtectedCluster before;
  before.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  before.add(workload("victim", "q"), 10, 0);
  const std::vector<Decision> decisions = before.scheduler.drain(at(0));

  ProtectedCluster after;
  after.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  after.confirm(test::admission(decisions), 10, 0);
  // The clock of this process was set, and says that an hour has passed.
  const Now jumped{at(3620).wall, at(20).monotonic};
  after.scheduler.put(std::make_shared<const Workload>(workload("urgent", "q", 100)), {{{"cpu", 10000}}}, jumped);
  CHECK(Cluster::told(after.scheduler.drain(jumped)) == "?urgent:preemptNoCandidates");
  CHECK(after.scheduler.next_wake() == in(60));
}

// Only who can write a Workload's status could do it, and he could admit himself as well.
TEST_CASE("protection: a stamp in the future protects no longer than one of now") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  ProtectedCluster source;
  source.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {}));
  source.add(workload("victim", "q"), 10, 0);
  const std::vector<Decision> decisions = source.scheduler.drain(at(0));
  const Admitted& admitted = test::admission(decisions);
  Workload written = *admitted.workload;
  written.status.admission = admitted.admission;
  for (const char* type : {"QuotaReserved", "Admitted"})
    set_condition(written.status.conditions, {.type = type,
                                              .status = "True",
                                              .reason = type,
                                              .message = {},
                                              .last_transition = to_timestamp(at(1'000'000).wall)});
  cluster.put(written, 10, 0);
  cluster.add(workload("urgent", "q", 100), 10, 0);
  CHECK(cluster.run(0) == "?urgent:preemptNoCandidates");
  CHECK(cluster.scheduler.next_wake() == in(60));
}

TEST_CASE("protection: a change of the annotations acts at once") {
  ProtectedCluster cluster;
  ClusterQueue queue = protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 1h});
  queue.meta.generation = 7;
  cluster.put(queue);
  cluster.put_class("gold", {.in_queue = 30min});
  cluster.add(of_class(workload("victim", "q"), "gold"), 10, 0);
  cluster.run(0);
  cluster.add(workload("urgent", "q", 100), 10, 0);
  CHECK(cluster.run(0) == "?urgent:preemptNoCandidates");
  CHECK(cluster.scheduler.next_wake() == in(1800));
  cluster.put_class("gold", {.in_queue = 20s});
  cluster.run(1);
  CHECK(cluster.scheduler.next_wake() == in(20));
  // The class goes; its Workloads have what the queue grants.
  cluster.scheduler.remove_workload_priority_class("gold");
  cluster.run(20);
  CHECK(cluster.scheduler.next_wake() == in(3600));
  // Annotations change no generation.
  queue.protection = {.in_queue = 25s};
  cluster.put(queue);
  CHECK(cluster.run(22).find('-') == std::string::npos);
  CHECK(cluster.run(25) == "-victim ?urgent:preempting");
}

TEST_CASE("protection: a job that changes its class while it runs keeps the protection of its first class") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s, .limit = 1h}));
  cluster.put_class("silver", {.in_queue = 10s});
  cluster.put_class("gold", {.in_queue = 1h});
  cluster.add(of_class(workload("victim", "q"), "silver"), 10, 0);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(0));
  Admitted admitted = test::admission(decisions);
  cluster.confirm(admitted, 10, 0);
  admitted.workload = std::make_shared<const Workload>(of_class(*admitted.workload, "gold"));
  cluster.confirm(admitted, 10, 0);
  cluster.add(workload("urgent", "q", 100), 10, 5);
  CHECK(cluster.run(5) == "?urgent:preemptNoCandidates");
  CHECK(cluster.scheduler.next_wake() == in(10));
}

TEST_CASE("protection: who is leaving already is not protected, and another flavor without protection is preferred") {
  ProtectedCluster cluster;
  cluster.put(test::resource_flavor("second"));
  ClusterQueue queue =
      protecting(cluster_queue("q", "", {{.nominal = 10}, {.flavor = "second", .nominal = 10}}), {.in_queue = 60s});
  cluster.put(queue);
  cluster.add(workload("older", "q"), 10, 0);
  cluster.run(0);
  cluster.add(workload("newer", "q"), 10, 30);
  cluster.run(30);
  cluster.add(workload("urgent", "q", 100), 10, 65);
  CHECK(cluster.run(65) == "-older ?urgent:preempting");
  // `older` is not protected now, `newer` still is.
  cluster.add(workload("more", "q", 50), 10, 66);
  CHECK(cluster.run(66).find("-newer") == std::string::npos);
}

TEST_CASE("protection: a ClusterQueue that goes is not waited for") {
  ProtectedCluster cluster;
  cluster.put(protecting(cluster_queue("q", "", {{.nominal = 10}}), {.in_queue = 60s}));
  cluster.add(workload("victim", "q"), 10, 0);
  cluster.run(0);
  cluster.add(workload("urgent", "q", 100), 10, 0);
  cluster.run(0);
  REQUIRE(cluster.scheduler.next_wake());
  cluster.scheduler.remove_cluster_queue("q");
  CHECK_FALSE(cluster.scheduler.next_wake());
  CHECK(cluster.run(61).empty());
}

}  // namespace preemption_protection_test
