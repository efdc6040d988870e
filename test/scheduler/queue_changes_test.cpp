// The scheduler while its queues and cohorts come, change and go.
#include <doctest/doctest.h>

#include "test/scheduler/scheduler_fixture.h"

using namespace muster;
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
  CHECK(cluster.scheduler.why_inactive("a")->reason == "FlavorNotFound");
  CHECK(cluster.scheduler.explain("team", "one")->reason == "Suspended");
  cluster.put(test::resource_flavor("spot"));
  queue.stop_policy = StopPolicy::kHold;
  cluster.put(queue);
  CHECK(cluster.drain() == "");
  CHECK(cluster.scheduler.why_inactive("a")->reason == "Stopped");
  queue.stop_policy = StopPolicy::kNone;
  cluster.put(queue);
  CHECK(cluster.drain() == "+one");
  CHECK_FALSE(cluster.scheduler.why_inactive("a"));
}

TEST_CASE("scheduler: queues may come after their Workloads and go before them") {
  Cluster cluster;
  cluster.put(workload("early", "a"), 1);
  CHECK(cluster.scheduler.place_of("team", "early") == Requeued::kNowhere);
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  const Admitted admitted = admission(cluster.scheduler.drain(at(0)));
  cluster.confirm(admitted, 1);
  cluster.put(workload("late", "a"), 4);
  cluster.scheduler.remove_cluster_queue("a");
  CHECK(cluster.drain() == "");
  CHECK(cluster.scheduler.place_of("team", "late") == Requeued::kNowhere);
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  CHECK(cluster.scheduler.usage_of("a", "default", "cpu") == 1000);
  CHECK(cluster.drain() == "?late:preemptNoCandidates");
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
  CHECK(cluster.scheduler.why_inactive("a")->reason == "CohortCycle");
  cluster.scheduler.remove_workload("team", "running");
  CHECK(cluster.drain(2) == "");
  set_parent("y", "");
  CHECK(cluster.drain(3) == "+stuck");
}
