// The scheduler as its owner sees it: events in, decisions out.
#include "scheduler/scheduler.h"
#include "scheduler/eligibility.h"
#include "scheduler/views/explanation.h"

#include <doctest/doctest.h>

#include "test/scheduler/scheduler_fixture.h"

namespace scheduler_test {

using namespace muster;
using namespace muster::scheduler;
using test::admission;
using test::at;
using test::Cluster;
using test::cluster_queue;
using test::workload;

namespace {

ClusterQueue preempting(const char* name, const char* cohort, int64_t nominal) {
  ClusterQueue queue = cluster_queue(name, cohort, {{.nominal = nominal}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  queue.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  return queue;
}

}  // namespace

TEST_CASE("scheduler: an admission names queue and flavor and counts and usage") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 10}}));
  Workload big = workload("big", "a");
  big.pod_sets[0].count = 3;
  cluster.put(big, 2);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(0));
  const Admission& made = admission(decisions).admission;
  CHECK(made.cluster_queue == "a");
  REQUIRE(made.pod_sets.size() == 1);
  CHECK(made.pod_sets[0].count == 3);
  CHECK(made.pod_sets[0].flavors.at("cpu") == "default");
  CHECK(made.pod_sets[0].resource_usage.at("cpu") == Quantity::of(6));
}

TEST_CASE("scheduler: an admission is assumed until it is confirmed or rolled back") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  cluster.put(workload("one", "a", 0, 1), 4);
  cluster.put(workload("two", "a", 0, 2), 4);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(0));
  CHECK(Cluster::told(decisions) == "+one ?two:preemptNoCandidates");
  // The object as it was before the write is an old picture.
  cluster.put(workload("one", "a", 0, 1), 4);
  CHECK(test::usage_of(cluster.scheduler, "a", "default", "cpu") == 4000);
  SUBCASE("rolled back: it competes again and the quota is free") {
    cluster.scheduler.roll_back("team", "one", at(1));
    CHECK(test::usage_of(cluster.scheduler, "a", "default", "cpu") == 0);
    CHECK(cluster.drain(1) == "+one");
  }
  SUBCASE("confirmed: a later object without reservation gives the quota back") {
    cluster.confirm(admission(decisions), 4);
    CHECK(cluster.drain(1) == "");
    cluster.put(workload("one", "a", 0, 3), 4);
    CHECK(cluster.drain(2) == "+two ?one:preemptNoCandidates");
  }
}

TEST_CASE("scheduler: a new leader forgets what its predecessor did not get written") {
  Cluster cluster;
  cluster.put(preempting("a", "", 4));
  cluster.put(workload("low", "a", 0, 1), 4);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 4);
  cluster.put(workload("high", "a", 1, 2), 4, 1);
  CHECK(cluster.drain(1) == "-low ?high:preempting");
  cluster.scheduler.roll_back_all(at(2));
  CHECK(cluster.drain(2) == "-low");
}

TEST_CASE("scheduler: a preemptor runs when its victim has left and not before") {
  Cluster cluster;
  cluster.put(preempting("a", "", 4));
  cluster.put(workload("low", "a", 0, 1), 4);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 4);
  cluster.put(workload("high", "a", 1, 2), 4, 1);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(1));
  const auto* preempted = std::get_if<Preempted>(&decisions.at(0));
  REQUIRE(preempted != nullptr);
  CHECK(preempted->workload->meta.name == "low");
  CHECK(to_text(preempted->reason) == "InClusterQueue");
  CHECK(preempted->message.find("preemptor path: /a; preemptee path: /a") != std::string::npos);
  CHECK(test::usage_of(cluster.scheduler, "a", "default", "cpu") == 4000);
  CHECK(cluster.drain(2) == "");
  cluster.put(workload("low", "a", 0, 1), 4, 3);
  CHECK(cluster.drain(3) == "+high ?low:preemptNoCandidates");
}

TEST_CASE("scheduler: two Workloads that evict each other come to rest and the preemptor keeps its claim") {
  Cluster cluster;
  for (const char* name : {"a", "b"}) {
    ClusterQueue queue = cluster_queue(name, "team", {{.nominal = 2}});
    queue.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
    queue.preemption.borrow_within_cohort = PreemptionPolicy::kLowerPriority;
    cluster.put(queue);
  }
  cluster.put(workload("borrower", "a", 0, 1), 4);
  std::map<std::string, Admitted> running;
  int evictions = 0;
  const auto settle = [&](int64_t seconds) {
    for (int round = 0; round < 60; ++round, seconds += 10) {
      bool moved = false;
      for (const Decision& decision : cluster.scheduler.drain(at(seconds))) {
        if (const auto* admitted = std::get_if<Admitted>(&decision)) {
          cluster.confirm(*admitted, admitted->workload->meta.name == "borrower" ? 4 : 2, seconds);
          moved = true;
        } else if (const auto* preempted = std::get_if<Preempted>(&decision)) {
          ++evictions;
          Workload released = *preempted->workload;
          released.status = {};
          cluster.put(released, released.meta.name == "borrower" ? 4 : 2, seconds + 5);
          moved = true;
        }
      }
      if (!moved) return;
    }
    FAIL("never comes to rest");
  };
  settle(0);
  cluster.put(workload("owner", "b", 0, 2), 2, 1000);
  settle(1000);
  CHECK(evictions >= 1);
  CHECK(test::usage_of(cluster.scheduler, "b", "default", "cpu") == 2000);
}

TEST_CASE("scheduler: an admission without a ClusterQueue and without pod sets uses no quota") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  Workload empty = workload("empty", "a");
  empty.status.admission = Admission{};
  set_condition(
      empty.status.conditions,
      {.type = "QuotaReserved", .status = "True", .reason = "QuotaReserved", .message = {}, .last_transition = {}});
  cluster.put(empty, 4);
  cluster.put(workload("next", "a"), 4);
  CHECK(cluster.drain() == "+next");
}

TEST_CASE("scheduler: an entry that fits only without another's victims is deferred until they have left") {
  Cluster cluster;
  cluster.put(preempting("a", "team", 6));
  cluster.put(cluster_queue("b", "team", {{.nominal = 0}}));
  cluster.put(cluster_queue("c", "team", {{.nominal = 0}}));
  cluster.put(workload("victim", "b", 0, 1), 5);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 5);
  cluster.put(workload("owner", "a", 0, 2), 3, 1);
  cluster.put(workload("small", "c", 0, 3), 1, 1);
  const std::string told = cluster.cycle(1);
  CHECK(told.find("-victim ?owner:preempting") != std::string::npos);
  int64_t used = 0;
  for (const char* queue : {"a", "b", "c"}) used += test::usage_of(cluster.scheduler, queue, "default", "cpu");
  CHECK(used <= 6000);
}

TEST_CASE("scheduler: StrictFIFO waits for its head and BestEffortFIFO passes it") {
  for (const bool strict : {true, false}) {
    INFO(strict);
    Cluster cluster;
    ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
    queue.queueing_strategy = strict ? QueueingStrategy::kStrictFifo : QueueingStrategy::kBestEffortFifo;
    cluster.put(queue);
    cluster.put(workload("running", "a", 0, 1), 3);
    cluster.put(workload("large", "a", 0, 2), 4);
    cluster.put(workload("small", "a", 0, 3), 1);
    CHECK_EQ(cluster.drain(), std::string(strict ? "+running ?large:preemptNoCandidates"
                                                 : "+running ?large:preemptNoCandidates +small"));
    CHECK(position_of(cluster.scheduler.state(), "team", "large") ==
          (strict ? QueuePosition::kActive : QueuePosition::kInadmissible));
  }
}

TEST_CASE("scheduler: one that nobody can stop is not admitted and holds up no StrictFIFO queue") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
  queue.queueing_strategy = QueueingStrategy::kStrictFifo;
  cluster.put(queue);
  const auto put_foreign = [&](bool can_be_stopped) {
    cluster.scheduler.put(std::make_shared<const Workload>(workload("foreign", "a", 0, 1)), {{{"cpu", 1000}}}, at(0),
                          can_be_stopped ? "" : "a foreign owner", can_be_stopped);
  };
  put_foreign(false);
  cluster.put(workload("alike", "a", 0, 2), 1);
  CHECK_EQ(cluster.drain(), std::string("?foreign:invalid +alike"));
  // Without that owner it is a Workload like any other.
  put_foreign(true);
  CHECK_EQ(cluster.drain(), std::string("+foreign"));
}

TEST_CASE("scheduler: equal Workloads are refused once and wake together") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  cluster.put(workload("running", "a", 0, 1), 4);
  const Admitted running = admission(cluster.scheduler.drain(at(0)));
  cluster.confirm(running, 4);
  for (int i = 0; i < 5; ++i) cluster.put(workload("w" + std::to_string(i), "a", 0, 2 + i), 2, 1);
  CHECK(cluster.drain(1) == "?w0:preemptNoCandidates");
  for (int i = 0; i < 5; ++i)
    CHECK(position_of(cluster.scheduler.state(), "team", "w" + std::to_string(i)) == QueuePosition::kInadmissible);
  cluster.scheduler.remove_workload("team", "running");
  CHECK(cluster.drain(2) == "+w0 +w1 ?w2:preemptNoCandidates");
}

TEST_CASE("scheduler: a Workload that was held back waits for its time") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  Workload late = workload("late", "a");
  late.status.requeue_state =
      RequeueState{.count = 1, .requeue_at = to_timestamp(at(60).wall), .first_admitted_at = {}};
  cluster.put(late, 1);
  CHECK(cluster.drain(0) == "");
  CHECK(position_of(cluster.scheduler.state(), "team", "late") == QueuePosition::kInadmissible);
  cluster.put(late, 1, 60);
  late.status.requeue_state.reset();
  cluster.put(late, 1, 60);
  CHECK(cluster.drain(60) == "+late");
}

TEST_CASE("scheduler: failed admission checks and foreign namespaces keep a Workload out") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
  queue.namespace_selector = *LabelSelector::parse({{"matchLabels", {{"tier", "gold"}}}});
  cluster.put(queue);
  cluster.put(workload("one", "a"), 1);
  CHECK(cluster.drain() == "?one:invalid");
  cluster.scheduler.put_namespace("team", {{"tier", "gold"}});
  CHECK(cluster.drain() == "+one");

  Workload refused = workload("two", "a");
  AdmissionCheckState check;
  check.name = "check";
  check.state = "Retry";
  refused.status.admission_checks.push_back(check);
  cluster.put(refused, 1);
  CHECK(cluster.drain() == "?two:invalid");
  refused.status.admission_checks[0].state = "Pending";
  cluster.put(refused, 1);
  CHECK(cluster.drain() == "+two");
}

TEST_CASE("scheduler: a ClusterQueue admits when all of its checks are there, also those of other flavors") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
  queue.admission_checks = {{.name = "always", .on_flavors = {}},
                            {.name = "here", .on_flavors = {"default"}},
                            {.name = "elsewhere", .on_flavors = {"spot"}}};
  cluster.put(queue);
  cluster.put(workload("one", "a"), 1);
  CHECK(cluster.drain() == "");
  CHECK(why_inactive(cluster.scheduler.state(), "a")->reason == "AdmissionCheckNotFound");
  for (const char* name : {"always", "here", "elsewhere"}) {
    AdmissionCheck check;
    check.meta.name = name;
    check.conditions = {{.type = "Active", .status = "True", .reason = {}, .message = {}, .last_transition = {}}};
    cluster.scheduler.put(std::make_shared<const AdmissionCheck>(check));
  }
  CHECK(cluster.drain() == "+one");
}

TEST_CASE("scheduler: pods that gave their quota back free it while the others run") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  Workload pair = workload("pair", "a");
  pair.pod_sets[0].count = 2;
  cluster.put(pair, 2);
  Admitted admitted = admission(cluster.scheduler.drain(at(0)));
  cluster.confirm(admitted, 2);
  cluster.put(workload("next", "a"), 2, 1);
  CHECK(cluster.drain(1) == "?next:preemptNoCandidates");
  Workload half = *admitted.workload;
  half.status.reclaimable_pods = {{.name = "main", .count = 1}};
  admitted.workload = std::make_shared<const Workload>(half);
  cluster.confirm(admitted, 2);
  CHECK(test::usage_of(cluster.scheduler, "a", "default", "cpu") == 2000);
  CHECK(cluster.drain(2) == "+next");
}

TEST_CASE("scheduler: what is wrong with a Workload counts again when it has lost its reservation") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  const Workload one = workload("one", "a");
  cluster.put(one, 1);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 1);
  cluster.scheduler.put(std::make_shared<const Workload>(one), {{{"cpu", 1000}}}, at(1), "asks for too much");
  CHECK(cluster.drain(1) == "?one:invalid");
  CHECK(explain_pending(cluster.scheduler.state(), "team", "one")->message == "asks for too much");
}

TEST_CASE("scheduler: an explanation has the numbers and who is ahead and what would help") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  cluster.put(workload("running", "a", 0, 1), 3);
  cluster.confirm(admission(cluster.scheduler.drain(at(0))), 3);
  cluster.put(workload("first", "a", 0, 2), 2, 1);
  cluster.put(workload("second", "a", 0, 3), 2, 1);
  cluster.put(workload("huge", "a", 0, 4), 9, 1);
  cluster.drain(1);
  const auto second = explain_pending(cluster.scheduler.state(), "team", "second");
  REQUIRE(second);
  CHECK(second->reason == "WaitingForQuota");
  CHECK(second->message ==
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed");
  CHECK(second->position == 1);
  CHECK(second->ahead == std::vector<std::string>{"team/first"});
  REQUIRE(second->flavors.size() == 1);
  CHECK(second->flavors[0].requested == 2000);
  CHECK(second->flavors[0].free == 1000);
  CHECK(second->flavors[0].nominal == 4000);
  CHECK(second->flavors[0].verdict == "asks for 2, 1 are free");
  const auto huge = explain_pending(cluster.scheduler.state(), "team", "huge");
  REQUIRE(huge);
  CHECK(huge->reason == "ExceedsMaxQuota");
  CHECK(huge->message.find("> maximum capacity (4)") != std::string::npos);
  CHECK_FALSE(explain_pending(cluster.scheduler.state(), "team", "running"));
}

TEST_CASE("scheduler: a drain that has admitted enough goes on where it stopped") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "pool", {{.nominal = 3}}));
  cluster.put(cluster_queue("b", "pool", {{.nominal = 3}}));
  int64_t created = 0;
  for (const char* name : {"one", "two", "three"}) cluster.put(workload(name, "a", 0, ++created), 1);
  cluster.put(workload("other", "b", 0, ++created), 1);
  CHECK(Cluster::told(cluster.scheduler.drain(at(0), 0)).empty());
  // A turn has a Workload of each queue.
  CHECK(Cluster::told(cluster.scheduler.drain(at(0), 1)) == "+one +other");
  cluster.put(workload("urgent", "a", 10), 3);
  CHECK(Cluster::told(cluster.scheduler.drain(at(0), 1)) == "+urgent");
  CHECK(cluster.drain() == "+two ?three:preemptNoCandidates");
}

TEST_CASE("scheduler: turns over queues in which nothing changed decide nothing") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 1}});
  queue.queueing_strategy = QueueingStrategy::kStrictFifo;
  cluster.put(queue);
  cluster.put(workload("blocked", "a"), 4);
  CHECK(cluster.drain(0) == "?blocked:noFit");
  CHECK(cluster.drain(1) == "");
  CHECK(cluster.cycle(2) == "?blocked:noFit");
}

TEST_CASE("scheduler: quantities beyond what a number holds take no room from who fits") {
  Cluster cluster;
  const auto huge_queue = [](const char* name) {
    ClusterQueue queue = cluster_queue(name, "x", {{.nominal = 1}});
    queue.resource_groups[0].flavors[0].resources[0].nominal = Quantity::parse("9E").value();
    return queue;
  };
  cluster.put(huge_queue("a"));
  cluster.put(huge_queue("b"));
  cluster.put(workload("small", "a", 0, 1), 1, 1);
  CHECK(cluster.drain(1) == "+small");
  const auto put_huge = [&](const char* name, const char* queue, int second) {
    cluster.scheduler.put(std::make_shared<const Workload>(workload(name, queue, 0, second)),
                          {{{"cpu", std::numeric_limits<int64_t>::max()}}}, at(second));
  };
  // It borrows: both queues together have more than a number holds.
  put_huge("huge", "b", 2);
  CHECK(cluster.drain(2) == "+huge");
  cluster.put(workload("modest", "b", 0, 3), 1, 2);
  CHECK(cluster.drain(3) == "+modest");
  put_huge("next", "b", 4);
  CHECK(cluster.drain(4) == "?next:preemptNoCandidates");
  cluster.scheduler.remove_workload("team", "modest");
  CHECK(cluster.drain(5).find("+next") == std::string::npos);
  cluster.scheduler.remove_workload("team", "small");
  CHECK(cluster.drain(6) == "+next");
}

}  // namespace scheduler_test
