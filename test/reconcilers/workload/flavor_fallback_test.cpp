// Flavor fallback (KEP-2560): when a Workload leaves a flavor, for how long it has tried it, and
// what becomes of it when all have failed.
#include <doctest/doctest.h>

#include "test/reconcilers/workload/fallback_cluster.h"

namespace flavor_fallback_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

TEST_CASE("flavor fallback: a Workload that does not start leaves the flavor at its timeout and is requeued at once") {
  FallbackCluster cluster(timeouts(15));
  cluster.admit({{"cpu", "spot"}});
  CHECK(cluster.done().empty());
  CHECK(cluster.wakes_in() == minutes(15));
  cluster.pass(minutes(15) - seconds(1));
  CHECK(cluster.done().empty());
  cluster.pass(seconds(1));
  CHECK(cluster.done() == Texts{"status workloads/wl"});
  CHECK(cluster.evicted() == "True FlavorFallback");
  CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
  CHECK(cluster.event_reasons() == Texts{"EvictedDueToFlavorFallback"});
  CHECK(cluster.status(kWorkloads, "wl")["schedulingStats"]["evictions"] ==
        json{{{"reason", "FlavorFallback"}, {"underlyingCause", "TimeoutForPodsReadyExceeded"}, {"count", 1}}});
  REQUIRE(cluster.fallbacks() == 1);
  cluster.release();
  CHECK(cluster.workload_condition("Requeued") == "True FlavorFallback");
  CHECK(cluster.requeue_state().is_null());
  cluster.done();
  CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
}

TEST_CASE("flavor fallback: the clock stops at every eviction and the flavor has the rest later") {
  FallbackCluster cluster(timeouts(15));
  cluster.admit({{"cpu", "spot"}});
  cluster.pass(minutes(6));
  cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "HoldAndDrain"}}}});
  cluster.done();
  CHECK(cluster.evicted() == "True ClusterQueueStopped");
  CHECK(cluster.tried() == "spot:360");
  cluster.pass(minutes(60));
  cluster.release();
  cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "None"}}}});
  cluster.done();
  CHECK(cluster.tried() == "spot:360");
  cluster.admit({{"cpu", "spot"}});
  CHECK(cluster.wakes_in() == minutes(9));
  cluster.pass(minutes(9));
  cluster.done();
  CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
}

TEST_CASE("flavor fallback: a shorter waitForPodsReady pauses the clock and a longer one does not act") {
  for (const bool shorter : {true, false}) {
    FallbackCluster cluster(timeouts(15));
    WaitForPodsReady wait;
    wait.timeout = shorter ? minutes(10) : minutes(30);
    wait.requeuing.backoff_jitter = 0;
    cluster.settings.queues.wait_for_pods_ready = wait;
    cluster.admit({{"cpu", "spot"}});
    cluster.pass(minutes(shorter ? 10 : 15));
    cluster.done();
    CHECK(cluster.evicted() == (shorter ? "True PodsReadyTimeout" : "True FlavorFallback"));
    CHECK(cluster.tried() == (shorter ? "spot:600" : "spot:900!TimeoutForPodsReadyExceeded"));
    if (!shorter) continue;
    cluster.release();
    cluster.pass(minutes(1));
    cluster.done();
    cluster.admit({{"cpu", "spot"}});
    cluster.pass(minutes(5));
    cluster.done();
    CHECK(cluster.evicted() == "True FlavorFallback");
  }
}

TEST_CASE("flavor fallback: at one moment with waitForPodsReady the fallback acts and there is one eviction") {
  FallbackCluster cluster(timeouts(15));
  cluster.settings.queues.wait_for_pods_ready = WaitForPodsReady{.timeout = minutes(15)};
  cluster.admit({{"cpu", "spot"}});
  cluster.pass(minutes(15));
  CHECK(cluster.done() == Texts{"status workloads/wl"});
  CHECK(cluster.evicted() == "True FlavorFallback");
}

TEST_CASE("flavor fallback: pods that are ready, or were, end the clock") {
  for (const auto& [status, reason] : {std::pair("True", "Started"), std::pair("False", "WaitForRecovery")}) {
    FallbackCluster cluster(timeouts(15));
    cluster.admit({{"cpu", "spot"}});
    cluster.set_condition_of("PodsReady", status, reason);
    cluster.pass(minutes(60));
    CHECK(cluster.done().empty());
    CHECK_FALSE(cluster.wakes_in());
  }
}

TEST_CASE("flavor fallback: with DeactivateWorkload the Workload is deactivated after the last flavor") {
  FallbackCluster cluster(timeouts(15, 5), "DeactivateWorkload");
  for (const auto& [name, length] : {std::pair("reservation", 10), std::pair("spot", 15)}) {
    cluster.admit({{"cpu", name}});
    cluster.pass(minutes(length));
    cluster.done();
    CHECK(cluster.evicted() == "True FlavorFallback");
    cluster.release();
    cluster.done();
  }
  cluster.admit({{"cpu", "on-demand"}});
  cluster.pass(minutes(5));
  cluster.done();
  CHECK(cluster.get(kWorkloads, "wl")["spec"]["active"] == false);
  CHECK(cluster.evicted() == "True DeactivatedDueToFlavorsExhausted");
  CHECK(cluster.tried() ==
        "reservation:600!TimeoutForPodsReadyExceeded spot:900!TimeoutForPodsReadyExceeded "
        "on-demand:300!TimeoutForPodsReadyExceeded");
  cluster.release();
  cluster.done();
  // Reactivation begins with every flavor.
  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.done();
  CHECK(cluster.workload_condition("Requeued") == "True Reactivated");
  CHECK(cluster.history().empty());
}

TEST_CASE("flavor fallback: with RetryAllFlavors a new round begins after a backoff that doubles") {
  FallbackCluster cluster(json{{{"name", "*"}, {"timeout", "90s"}}});
  cluster.settings.queues.wait_for_pods_ready = WaitForPodsReady{.timeout = minutes(60)};
  cluster.settings.queues.wait_for_pods_ready->requeuing.backoff_jitter = 0;
  for (const int backoff : {60, 120, 240}) {
    for (const char* name : {"reservation", "spot", "on-demand"}) {
      cluster.admit({{"cpu", name}});
      cluster.pass(seconds(90));
      cluster.done();
      CHECK(cluster.evicted() == "True FlavorFallback");
      if (std::string(name) != "on-demand") {
        cluster.release();
        cluster.done();
      }
    }
    CHECK(cluster.history().attempts.empty());
    CHECK(cluster.requeue_state()["requeueAt"] == cluster.stamp(seconds(backoff)));
    cluster.release();
    CHECK(cluster.workload_condition("Requeued") == "False FlavorFallback");
    CHECK(cluster.wakes_in() == seconds(backoff));
    cluster.pass(seconds(backoff));
    cluster.done();
    CHECK(cluster.workload_condition("Requeued") == "True BackoffFinished");
  }
  CHECK(cluster.history().fallback->round == 4);
  CHECK(cluster.count_events("FlavorsExhausted") == 3);
}

TEST_CASE("flavor fallback: a rejected check of a flavor with a rule makes the flavor fail") {
  struct Row {
    const char* name;
    json on_flavors;
    json rules;
    std::string evicted, tried;
  };
  const json by_check = {{{"name", "*"}, {"trigger", "AdmissionCheckRejected"}}};
  const Row rows[] = {
      {"a check of all flavors", json::array(), by_check, "True FlavorFallback", "spot:0!AdmissionCheckRejected"},
      {"a check of this flavor", {"spot"}, by_check, "True FlavorFallback", "spot:0!AdmissionCheckRejected"},
      {"a rule for another flavor",
       {"spot"},
       {{{"name", "on-demand"}, {"trigger", "AdmissionCheckRejected"}}},
       "True DeactivatedDueToAdmissionCheck",
       "spot:0"},
      {"a rule with a timeout alone", json::array(), timeouts(15), "True DeactivatedDueToAdmissionCheck", "spot:0"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    FallbackCluster cluster(row.rules);
    cluster.patch(kClusterQueues, "cq",
                  {{"spec",
                    {{"admissionChecksStrategy",
                      {{"admissionChecks", {{{"name", "machines"}, {"onFlavors", row.on_flavors}}}}}}}}});
    cluster.admit({{"cpu", "spot"}});
    cluster.patch(kWorkloads, "wl",
                  {{"status",
                    {{"admissionChecks",
                      {{{"name", "machines"},
                        {"state", "Rejected"},
                        {"message", "sold out"},
                        {"lastTransitionTime", cluster.stamp(seconds(0))}}}}}}});
    cluster.done();
    CHECK(cluster.evicted() == row.evicted);
    CHECK(cluster.tried() == row.tried);
    CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"][0]["state"] == "Pending");
  }
}

TEST_CASE("flavor fallback: of two resource groups the one falls back that has another flavor") {
  const json groups = {{{"coveredResources", {"cpu"}}, {"flavors", {flavor("spot"), flavor("on-demand")}}},
                       {{"coveredResources", {"gpu"}}, {"flavors", json::array({flavor("fast", "gpu")})}}};
  const auto rules = [](int cpu, int gpu) {
    return json{{{"name", "spot"}, {"timeoutMinutes", cpu}}, {{"name", "fast"}, {"timeoutMinutes", gpu}}};
  };
  SUBCASE("both expire: the flavor without an alternative begins again") {
    FallbackCluster cluster(rules(5, 5));
    cluster.patch(kClusterQueues, "cq", {{"spec", {{"resourceGroups", groups}}}});
    cluster.set_rules(rules(5, 5));
    cluster.admit({{"cpu", "spot"}, {"gpu", "fast"}});
    cluster.pass(minutes(5));
    cluster.done();
    CHECK(cluster.evicted() == "True FlavorFallback");
    CHECK(cluster.tried() == "spot:300!TimeoutForPodsReadyExceeded fast:0");
    cluster.release();
    cluster.done();
    cluster.admit({{"cpu", "on-demand"}, {"gpu", "fast"}});
    CHECK(cluster.wakes_in() == minutes(5));
    cluster.pass(minutes(5));
    cluster.done();
    CHECK(cluster.history().fallback->round == 2);
  }
  SUBCASE("the one without an alternative expires first: the other has its time") {
    FallbackCluster cluster(rules(5, 2));
    cluster.patch(kClusterQueues, "cq", {{"spec", {{"resourceGroups", groups}}}});
    cluster.set_rules(rules(5, 2));
    cluster.admit({{"cpu", "spot"}, {"gpu", "fast"}});
    cluster.pass(minutes(2));
    CHECK(cluster.done().empty());
    CHECK(cluster.wakes_in() == minutes(3));
    cluster.pass(minutes(3));
    cluster.done();
    CHECK(cluster.tried() == "spot:300!TimeoutForPodsReadyExceeded fast:0");
  }
  SUBCASE("the one without an alternative expires beside one that never fails: exhausted") {
    FallbackCluster cluster(rules(5, 2));
    cluster.patch(kClusterQueues, "cq", {{"spec", {{"resourceGroups", groups}}}});
    cluster.set_rules(json{{{"name", "fast"}, {"timeoutMinutes", 2}}}, "DeactivateWorkload");
    cluster.admit({{"cpu", "spot"}, {"gpu", "fast"}});
    cluster.pass(minutes(2));
    cluster.done();
    CHECK(cluster.evicted() == "True DeactivatedDueToFlavorsExhausted");
  }
}

TEST_CASE("flavor fallback: of two resource groups each combination has its time before all have failed") {
  const json groups = {{{"coveredResources", {"cpu"}}, {"flavors", {flavor("spot"), flavor("on-demand")}}},
                       {{"coveredResources", {"gpu"}}, {"flavors", {flavor("fast", "gpu"), flavor("slow", "gpu")}}}};
  struct Row {
    int cpu, gpu;  // minutes
    // Combinations in order, and what failed in the end.
    std::vector<std::pair<const char*, const char*>> tried;
  };
  const Row rows[] = {
      {5, 5, {{"spot", "fast"}, {"on-demand", "fast"}, {"spot", "slow"}, {"on-demand", "slow"}}},
      {5, 10, {{"spot", "fast"}, {"on-demand", "fast"}, {"spot", "slow"}, {"on-demand", "slow"}}},
      {10, 5, {{"spot", "fast"}, {"spot", "slow"}, {"on-demand", "fast"}, {"on-demand", "slow"}}},
  };
  for (const Row& row : rows) {
    INFO(row.cpu, " and ", row.gpu, " minutes");
    const json rules = {{{"name", "spot"}, {"timeoutMinutes", row.cpu}},
                        {{"name", "on-demand"}, {"timeoutMinutes", row.cpu}},
                        {{"name", "fast"}, {"timeoutMinutes", row.gpu}},
                        {{"name", "slow"}, {"timeoutMinutes", row.gpu}}};
    FallbackCluster cluster(rules, "DeactivateWorkload");
    cluster.patch(kClusterQueues, "cq", {{"spec", {{"resourceGroups", groups}}}});
    cluster.set_rules(rules, "DeactivateWorkload");
    for (size_t i = 0; i < row.tried.size(); ++i) {
      // The scheduler takes the first flavor of each group that has not failed.
      const FlavorHistory history = i == 0 ? FlavorHistory() : cluster.history();
      const auto first = [&](const char* one, const char* other) -> std::string {
        const FlavorAttempt* attempt = history.find(one);
        return attempt != nullptr && attempt->failure ? other : one;
      };
      REQUIRE(first("spot", "on-demand") == row.tried[i].first);
      REQUIRE(first("fast", "slow") == row.tried[i].second);
      cluster.admit({{"cpu", row.tried[i].first}, {"gpu", row.tried[i].second}});
      for (int passed = 0; passed < 10 && cluster.evicted() != "True FlavorFallback"; passed += 5) {
        cluster.pass(minutes(5));
        cluster.done();
        if (cluster.evicted() == "True DeactivatedDueToFlavorsExhausted") break;
      }
      if (i + 1 == row.tried.size()) break;
      REQUIRE(cluster.evicted() == "True FlavorFallback");
      cluster.release();
      cluster.done();
    }
    CHECK(cluster.evicted() == "True DeactivatedDueToFlavorsExhausted");
  }
}

TEST_CASE("flavor fallback: what changes while a Workload waits with a failed flavor") {
  FallbackCluster cluster(timeouts(15));
  cluster.admit({{"cpu", "spot"}});
  cluster.pass(minutes(15));
  cluster.done();
  cluster.release();
  cluster.done();
  REQUIRE(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
  const auto groups_of = [](const json& flavors) {
    return json{{"spec", {{"resourceGroups", {{{"coveredResources", {"cpu"}}, {"flavors", flavors}}}}}}};
  };
  SUBCASE("a longer timeout leaves the failure") {
    cluster.set_rules(timeouts(60));
    cluster.done();
    CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
  }
  SUBCASE("without the rule it counts no more") {
    cluster.set_rules(json{{{"name", "reservation"}, {"timeoutMinutes", 10}}});
    cluster.done();
    CHECK(cluster.tried() == "spot:0");
  }
  SUBCASE("without rules the history ends") {
    cluster.set_rules(json());
    cluster.done();
    CHECK(cluster.history().empty());
  }
  SUBCASE("in another ClusterQueue the history ends") {
    json other = cluster.get(kClusterQueues, "cq");
    other["metadata"].erase("uid");
    cluster.put(kClusterQueues, "other", other);
    cluster.patch(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "other"}}}});
    cluster.done();
    CHECK(cluster.history().empty());
  }
  SUBCASE("a flavor that leaves the queue leaves the history") {
    cluster.patch(kClusterQueues, "cq", groups_of(json::array({flavor("reservation"), flavor("on-demand")})));
    cluster.set_rules(json{{{"name", "*"}, {"timeoutMinutes", 15}}});
    cluster.done();
    CHECK(cluster.tried().empty());
    CHECK(cluster.history().fallback->round == 1);
  }
  SUBCASE("where no other flavor is left the round ends") {
    cluster.patch(kClusterQueues, "cq", groups_of(json::array({flavor("spot")})));
    cluster.set_rules(json{{{"name", "*"}, {"timeoutMinutes", 15}}});
    cluster.done();
    CHECK(cluster.history().fallback->round == 2);
    CHECK(cluster.requeue_state().contains("requeueAt"));
  }
  SUBCASE("where no other flavor is left it is deactivated, and says why") {
    cluster.patch(kClusterQueues, "cq", groups_of(json::array({flavor("spot")})));
    cluster.set_rules(json{{{"name", "*"}, {"timeoutMinutes", 15}}}, "DeactivateWorkload");
    cluster.done();
    CHECK(cluster.get(kWorkloads, "wl")["spec"]["active"] == false);
    CHECK(cluster.evicted() == "True DeactivatedDueToFlavorsExhausted");
  }
}

TEST_CASE("flavor fallback: a shortened timeout makes a flavor fail whose time is used up") {
  FallbackCluster cluster(timeouts(15));
  cluster.admit({{"cpu", "spot"}});
  cluster.pass(minutes(6));
  cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "HoldAndDrain"}}}});
  cluster.done();
  cluster.release();
  cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "None"}}}});
  cluster.set_rules(timeouts(5));
  cluster.done();
  CHECK(cluster.tried() == "spot:360!TimeoutForPodsReadyExceeded");
}

TEST_CASE("flavor fallback: when no other flavor has had room for the longest timeout all are tried again") {
  for (const char* policy : {"RetryAllFlavors", "DeactivateWorkload"}) {
    FallbackCluster cluster(timeouts(15), policy);
    cluster.admit({{"cpu", "spot"}});
    cluster.pass(minutes(15));
    cluster.done();
    cluster.release();
    cluster.done();
    const bool retries = std::string(policy) == "RetryAllFlavors";
    CHECK(cluster.wakes_in() == (retries ? std::optional<Duration>(minutes(15)) : std::nullopt));
    cluster.pass(minutes(15));
    cluster.done();
    CHECK(cluster.tried() == (retries ? "" : "spot:900!TimeoutForPodsReadyExceeded"));
    CHECK(cluster.history().fallback->round == (retries ? 2 : 1));
    // It has waited: no backoff.
    CHECK(cluster.requeue_state().is_null());
  }
}

TEST_CASE("flavor fallback: rules that come while a job runs or starts evict nobody at once") {
  FallbackCluster cluster(json(nullptr));
  cluster.admit({{"cpu", "spot"}});
  cluster.pass(minutes(600));
  cluster.set_rules(timeouts(15));
  CHECK(cluster.done().empty());
  // The job's reconciler says how its pods are: not ready yet.
  cluster.set_condition_of("PodsReady", "False", "WaitForStart");
  CHECK(cluster.done() == Texts{"status workloads/wl"});
  CHECK(cluster.tried() == "spot:0");
  CHECK(cluster.wakes_in() == minutes(15));
}

TEST_CASE("flavor fallback: stamps from another age do no harm") {
  FlavorAttempt attempt{.flavor = "f", .assigned_at = {}};
  const TimePoint now{std::chrono::seconds(1'767'268'800)};
  CHECK(time_left(attempt, minutes(5), now) < Duration::zero());
  attempt.assigned_at.seconds = 250'000'000'000;
  attempt.used_seconds = 7;
  CHECK(time_left(attempt, minutes(5), now) == minutes(5) - seconds(7));
}

}  // namespace flavor_fallback_test
