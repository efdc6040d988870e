// waitForPodsReady.blockAdmission in the scheduler: one admission, then the next.
#include <doctest/doctest.h>

#include "scheduler/eligibility.h"
#include "test/scheduler/scheduler_fixture.h"

namespace one_by_one_test {

using namespace muster;
using namespace muster::scheduler;
using test::at;
using test::Cluster;
using test::cluster_queue;
using test::workload;

namespace {

const SchedulerSettings kOneByOne{.one_by_one = true};

std::string reason_of(const std::vector<Decision>& decisions, const std::string& name) {
  for (const Decision& decision : decisions) {
    const auto* pending = std::get_if<Pending>(&decision);
    if (pending != nullptr && pending->workload->meta.name == name)
      return std::string(to_text(pending->reason)) + ": " + pending->message;
  }
  return "";
}

}  // namespace

TEST_CASE("one by one: of all queues one Workload is admitted and the others wait for it by name") {
  Cluster cluster(kOneByOne);
  cluster.put(cluster_queue("a", "", {{.nominal = 10}}));
  cluster.put(cluster_queue("b", "", {{.nominal = 10}}));
  cluster.put(workload("one", "a", 0, 1), 1);
  cluster.put(workload("two", "a", 0, 2), 1);
  cluster.put(workload("three", "b", 0, 3), 1);
  const std::vector<Decision> first = cluster.scheduler.drain(at(0));
  CHECK(Cluster::told(first) == "+one ?three:awaitingReady ?two:awaitingReady");
  CHECK(reason_of(first, "two") ==
        "WaitingForPodsReady: Workload fits, and waits until all pods of the admitted workload team/one are ready");
  CHECK(cluster.drain(1).empty());
  CHECK(position_of(cluster.scheduler.state(), "team", "two") == QueuePosition::kActive);

  cluster.scheduler.await_ready("team/one");
  CHECK(cluster.drain(2).empty());
  cluster.scheduler.await_ready("");
  // Who was held up first goes first, and the next one waits for that one.
  const std::vector<Decision> second = cluster.scheduler.drain(at(3));
  CHECK(Cluster::told(second) == "+three ?two:awaitingReady");
  CHECK(reason_of(second, "two").find("team/three") != std::string::npos);
  cluster.scheduler.await_ready("");
  CHECK(cluster.drain(4) == "+two");
}

TEST_CASE("one by one: who borrows is not passed for ever by those who need not") {
  for (const bool fair : {false, true}) {
    SchedulerSettings settings = kOneByOne;
    if (fair) settings.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare};
    Cluster cluster(settings);
    cluster.put(cluster_queue("a", "cohort", {{.nominal = 10}}));
    cluster.put(cluster_queue("b", "cohort", {{.nominal = 0}}));
    for (int i = 0; i < 4; ++i) cluster.put(workload("own" + std::to_string(i), "a", 0, i), 1);
    cluster.put(workload("borrower", "b", 0, 9), 1);
    std::string order;
    for (int i = 0; i < 5; ++i) {
      cluster.scheduler.await_ready("");
      for (const Decision& decision : cluster.scheduler.drain(at(i))) {
        if (const auto* admitted = std::get_if<Admitted>(&decision)) order += admitted->workload->meta.name + " ";
      }
    }
    CHECK_MESSAGE(order.find("borrower") <= std::string("own0 ").size(), order);
  }
}

TEST_CASE("one by one: evictions and refusals go on while somebody is awaited") {
  Cluster cluster(kOneByOne);
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  cluster.put(queue);
  cluster.put(workload("low", "a", 0, 1), 4);
  CHECK(cluster.drain(0) == "+low");
  cluster.scheduler.await_ready("team/low");
  cluster.put(workload("huge", "a", 7, 2), 5);
  cluster.put(workload("high", "a", 5, 3), 4);
  CHECK(cluster.drain(1) == "?huge:noFit -low ?high:preempting");
}

TEST_CASE("one by one: the quota of who is held up is not promised to others") {
  Cluster cluster(kOneByOne);
  cluster.put(cluster_queue("a", "cohort", {{.nominal = 2}}));
  cluster.put(cluster_queue("b", "cohort", {{.nominal = 0}}));
  cluster.scheduler.await_ready("team/other");
  cluster.put(workload("first", "a", 0, 1), 2);
  cluster.put(workload("second", "b", 0, 2), 2);
  CHECK(cluster.drain(0) == "?first:awaitingReady ?second:skipped");
  cluster.scheduler.await_ready("");
  CHECK(cluster.drain(1).starts_with("+first"));
}

}  // namespace one_by_one_test
