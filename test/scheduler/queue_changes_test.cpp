// The scheduler while its queues and cohorts come, change and go.
#include <doctest/doctest.h>

#include "scheduler/eligibility.h"
#include "scheduler/views/explanation.h"
#include "scheduler/views/queue_readings.h"
#include "test/scheduler/scheduler_fixture.h"

namespace queue_changes_test {

using namespace muster;
using namespace muster::scheduler;
using test::admission;
using test::at;
using test::Cluster;
using test::cluster_queue;
using test::workload;

TEST_CASE("scheduler: a ClusterQueue says why it takes nothing and takes Workloads when that is mended") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.flavor = "spot", .nominal = 4}});
  cluster.put(queue);
  cluster.put(workload("one", "a"), 1);
  CHECK(cluster.drain() == "");
  CHECK(why_inactive(cluster.scheduler.state(), "a")->reason == "FlavorNotFound");
  CHECK(explain_pending(cluster.scheduler.state(), "team", "one")->reason == "Suspended");
  cluster.put(test::resource_flavor("spot"));
  queue.stop_policy = StopPolicy::kHold;
  cluster.put(queue);
  CHECK(cluster.drain() == "");
  CHECK(why_inactive(cluster.scheduler.state(), "a")->reason == "Stopped");
  queue.stop_policy = StopPolicy::kNone;
  cluster.put(queue);
  CHECK(cluster.drain() == "+one");
  CHECK_FALSE(why_inactive(cluster.scheduler.state(), "a"));
}

TEST_CASE("scheduler: queues may come after their Workloads and go before them") {
  Cluster cluster;
  cluster.put(workload("early", "a"), 1);
  CHECK(position_of(cluster.scheduler.state(), "team", "early") == QueuePosition::kNowhere);
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  const Admitted admitted = admission(cluster.scheduler.drain(at(0)));
  cluster.confirm(admitted, 1);
  cluster.put(workload("late", "a"), 4);
  cluster.scheduler.remove_cluster_queue("a");
  CHECK(cluster.drain() == "");
  CHECK(position_of(cluster.scheduler.state(), "team", "late") == QueuePosition::kNowhere);
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  CHECK(test::usage_of(cluster.scheduler, "a", "default", "cpu") == 1000);
  CHECK(cluster.drain() == "?late:preemptNoCandidates");
}

TEST_CASE("scheduler: a Workload whose preemption has come to nothing comes first no more") {
  Cluster cluster;
  const auto queue_of = [](int64_t cores) {
    ClusterQueue queue = cluster_queue("a", "", {{.nominal = cores}});
    queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
    return queue;
  };
  cluster.put(queue_of(4));
  cluster.put(workload("victim", "a"), 4);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 4);
  cluster.put(workload("preemptor", "a", 5, 1), 4);
  CHECK(cluster.drain(1) == "-victim ?preemptor:preempting");
  // It can have this quota no more.
  cluster.put(queue_of(2));
  CHECK(cluster.drain(2).find("?preemptor:noFit") != std::string::npos);
  cluster.scheduler.remove_workload("team", "victim");
  cluster.put(workload("higher", "a", 10, 3), 4);
  cluster.drain(3);
  cluster.put(queue_of(4));
  CHECK(cluster.drain(4).starts_with("+higher"));
}

TEST_CASE("scheduler: a LocalQueue takes its pending Workloads along to another ClusterQueue") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 1}}));
  cluster.put(cluster_queue("b", "", {{.nominal = 4}}));
  cluster.put(workload("waiting", "a"), 4);
  CHECK(cluster.drain() == "?waiting:noFit");
  LocalQueue moved;
  moved.meta.ns = "team";
  moved.meta.name = "a";
  moved.cluster_queue = "b";
  cluster.scheduler.put(std::make_shared<const LocalQueue>(moved));
  for (const ClusterQueueReading& reading : readings_of(cluster.scheduler.state(), false).cluster_queues) {
    if (reading.name == "a") CHECK(reading.pending.active + reading.pending.inadmissible == 0);
  }
  CHECK(cluster.drain(1) == "+waiting");
}

TEST_CASE("scheduler: what leaves through a stopped LocalQueue still wakes those that wait") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "team", {{.nominal = 4}}));
  cluster.put(cluster_queue("b", "team", {{.nominal = 0}}));
  cluster.put(workload("running", "a"), 4);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 4);
  cluster.put(workload("waiting", "b"), 4);
  CHECK(cluster.drain(1) == "?waiting:noFit");
  LocalQueue stopped;
  stopped.meta.ns = "team";
  stopped.meta.name = stopped.cluster_queue = "a";
  stopped.stop_policy = StopPolicy::kHold;
  cluster.scheduler.put(std::make_shared<const LocalQueue>(stopped));
  cluster.scheduler.remove_workload("team", "running");
  CHECK(cluster.drain(2) == "+waiting");
}

TEST_CASE("scheduler: Cohorts in a circle stop their ClusterQueues and nothing else") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "x", {{.nominal = 4}}));
  cluster.put(cluster_queue("b", "fine", {{.nominal = 4}}));
  cluster.put(workload("running", "a", 0, 1), 2);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 2);
  const auto set_parent = [&](const char* name, const char* parent) {
    Cohort cohort;
    cohort.meta.name = name;
    cohort.parent = parent;
    cluster.scheduler.put(std::make_shared<const Cohort>(cohort));
  };
  set_parent("x", "y");
  set_parent("y", "x");
  cluster.put(workload("stuck", "a", 0, 2), 1, 1);
  cluster.put(workload("free", "b", 0, 3), 1, 1);
  CHECK(cluster.drain(1) == "+free");
  CHECK(why_inactive(cluster.scheduler.state(), "a")->reason == "CohortCycleDetected");
  cluster.scheduler.remove_workload("team", "running");
  CHECK(cluster.drain(2) == "");
  set_parent("y", "");
  CHECK(cluster.drain(3) == "+stuck");
}

TEST_CASE("scheduler: a priority that falls in one queue wakes who may evict for it in another") {
  for (const int32_t lowered : {1, 9}) {
    CAPTURE(lowered);
    Cluster cluster;
    for (const char* name : {"a", "b"}) {
      ClusterQueue queue = cluster_queue(name, "team", {{.nominal = 2}});
      queue.preemption.reclaim_within_cohort = PreemptionPolicy::kLowerPriority;
      cluster.put(queue);
    }
    Workload running = workload("running", "a", 9);
    cluster.put(running, 4);
    const Admitted admitted = admission(cluster.scheduler.drain(at(0)));
    cluster.confirm(admitted, 4);
    cluster.put(workload("waiting", "b", 5), 2);
    CHECK(cluster.drain(1) == "?waiting:preemptNoCandidates");
    Workload changed = *admitted.workload;
    changed.priority = lowered;
    cluster.confirm({.workload = std::make_shared<const Workload>(changed), .admission = admitted.admission}, 4);
    CHECK(cluster.drain(2) == (lowered < 5 ? "-running ?waiting:preempting" : ""));
  }
}

TEST_CASE("scheduler: pods that are done give quota back unless the gate ReclaimablePods is off") {
  for (const bool reclaims : {true, false}) {
    Cluster cluster(SchedulerSettings{.reclaims = reclaims});
    cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
    Workload running = workload("running", "a");
    running.pod_sets[0].count = 4;
    cluster.put(running, 1);
    Admitted admitted = admission(cluster.scheduler.drain(at(0)));
    Workload changed = *admitted.workload;
    changed.status.reclaimable_pods = {{.name = "main", .count = 3}};
    admitted.workload = std::make_shared<const Workload>(changed);
    cluster.confirm(admitted, 1);
    CHECK(test::usage_of(cluster.scheduler, "a", "default", "cpu") == (reclaims ? 1000 : 4000));
  }
}

TEST_CASE("scheduler: who comes back as one of a shape that was refused is told so once") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  cluster.put(workload("first", "a"), 5);
  CHECK(cluster.drain() == "?first:noFit");
  // A new one says nothing.
  cluster.put(workload("new", "a"), 5);
  CHECK(cluster.drain() == "");
  Workload back = workload("back", "a");
  set_condition(back.status.conditions, {.type = "QuotaReserved",
                                         .status = "False",
                                         .reason = "PendingEvaluation",
                                         .message = {},
                                         .last_transition = {}});
  cluster.put(back, 5);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(1));
  REQUIRE(decisions.size() == 1);
  const auto& pending = std::get<Pending>(decisions[0]);
  CHECK(pending.workload->meta.name == "back");
  CHECK_FALSE(pending.evaluated);
  CHECK(pending.reason == PendingReason::kExceedsMaxQuota);
  CHECK(cluster.drain(2) == "");
}

TEST_CASE("scheduler: what was said of who waits is void when it leaves its queue or that stops") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
  cluster.put(queue);
  cluster.put(workload("one", "a"), 5);
  CHECK(cluster.drain() == "?one:noFit");
  CHECK(cluster.scheduler.take_left().empty());
  CHECK(waits(cluster.scheduler.state(), "team", "one"));
  queue.stop_policy = StopPolicy::kHold;
  cluster.put(queue);
  CHECK(cluster.drain() == "");
  CHECK(cluster.scheduler.take_left() == std::vector<std::string>{"team/one"});
  CHECK_FALSE(waits(cluster.scheduler.state(), "team", "one"));
  queue.stop_policy = StopPolicy::kNone;
  cluster.put(queue);
  // It is reported again.
  CHECK(cluster.drain() == "?one:noFit");
  cluster.scheduler.remove_local_queue("team", "a");
  CHECK(cluster.scheduler.take_left() == std::vector<std::string>{"team/one"});
}

}  // namespace queue_changes_test
