// Flavor fallback (KEP-2560): when a Workload leaves a flavor, for how long it has tried it, and
// what becomes of it when all have failed.
#include <doctest/doctest.h>

#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/flavor_fallback.h"
#include "reconcilers/workload/job_workload_status.h"
#include "state/admissions.h"
#include "test/reconcilers/queues/queue_cluster.h"

using namespace muster;
using muster::test::QueueCluster;
using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

using Texts = std::vector<std::string>;

json flavor(const char* name, const char* resource = "cpu") {
  return {{"name", name}, {"resources", {{{"name", resource}, {"nominalQuota", "10"}}}}};
}

// The scheduler is fed with the objects, as the engine does.
class FallbackCluster : public QueueCluster {
 public:
  // `rules`: as in the manifest.
  explicit FallbackCluster(const json& rules, const char* policy = "RetryAllFlavors") {
    for (const char* name : {"reservation", "spot", "on-demand", "fast", "slow"}) put(kResourceFlavors, name, {});
    put_queues({{"resourceGroups",
                 {{{"coveredResources", {"cpu"}},
                   {"flavors", {flavor("reservation"), flavor("spot"), flavor("on-demand")}}}}}});
    set_rules(rules, policy);
  }

  void set_rules(const json& rules, const char* policy = "RetryAllFlavors") {
    json strategy = rules.is_null() ? json() : json{{"rules", rules}, {"failurePolicy", policy}};
    patch(kClusterQueues, "cq", {{"spec", {{"flavorFungibility", {{"fallbackStrategy", strategy}}}}}});
    const int generation = get(kClusterQueues, "cq")["metadata"]["generation"];
    patch(kClusterQueues, "cq", {{"metadata", {{"generation", generation + 1}}}});
  }

  static json asks(const json& more = json::object()) {
    json requests = {{"cpu", "1"}};
    requests.merge_patch(more);
    return {
        {"podSets",
         {{{"name", "main"},
           {"count", 2},
           {"template", {{"spec", {{"containers", {{{"name", "c"}, {"resources", {{"requests", requests}}}}}}}}}}}}}};
  }

  // Has quota on these flavors, by resource, and its pods are not ready yet.
  void admit(const json& flavors) {
    json object = get(kWorkloads, "wl");
    if (object.is_null()) object = workload(asks(flavors.contains("gpu") ? json{{"gpu", "1"}} : json::object()));
    json usage = json::object();
    for (const auto& item : flavors.items()) usage[item.key()] = "2";
    WorkloadStatus before = read_workload(object)->status, status = before;
    status.admission = Admission{.cluster_queue = "cq", .pod_sets = {}};
    PodSetAssignment assignment{.name = "main", .flavors = {}, .resource_usage = {}, .count = 2};
    for (const auto& item : flavors.items()) {
      assignment.flavors[item.key()] = item.value();
      assignment.resource_usage[item.key()] = Quantity::of(2);
    }
    status.admission->pod_sets.push_back(assignment);
    const ClusterQueue* queue = state.cluster_queue("cq");
    if (queue->fallback) start_flavor_clocks(status, *queue, whole_seconds(now.wall));
    const auto set = [&](const char* type, bool is_true, const char* reason) {
      set_condition(status.conditions, {.type = type,
                                        .status = is_true ? "True" : "False",
                                        .reason = reason,
                                        .message = "m",
                                        .last_transition = whole_seconds(now.wall)});
    };
    set("QuotaReserved", true, "QuotaReserved");
    set("Admitted", true, "Admitted");
    set("Evicted", false, "QuotaReserved");
    if (queue->fallback) set("PodsReady", false, "WaitForStart");
    object["status"].merge_patch(status_patch(before, status));
    put(kWorkloads, "wl", object);
  }
  // What the job's reconciler does once the job has stopped, requeued as the code says.
  void release() {
    json object = get(kWorkloads, "wl");
    const WorkloadPtr workload = read_workload(object);
    const Condition& evicted = *find_condition(workload->status.conditions, "Evicted");
    object["status"].merge_patch(
        status_patch(workload->status, released_status(*workload, evicted, Duration::zero(), whole_seconds(now.wall))));
    put(kWorkloads, "wl", object);
  }
  void set_condition_of(const char* type, const char* status, const char* reason) {
    json object = get(kWorkloads, "wl");
    json& conditions = object["status"]["conditions"];
    for (auto it = conditions.begin(); it != conditions.end(); ++it) {
      if ((*it)["type"] == type) {
        conditions.erase(it);
        break;
      }
    }
    conditions.push_back(condition(type, status, reason, seconds(0)));
    put(kWorkloads, "wl", object);
  }

  void feed() {
    for (const auto& [type, name] :
         std::initializer_list<std::pair<const ResourceType*, const char*>>{{&kResourceFlavors, "reservation"},
                                                                            {&kResourceFlavors, "spot"},
                                                                            {&kResourceFlavors, "on-demand"},
                                                                            {&kResourceFlavors, "fast"},
                                                                            {&kResourceFlavors, "slow"},
                                                                            {&kClusterQueues, "cq"},
                                                                            {&kLocalQueues, "lq"},
                                                                            {&kWorkloads, "wl"}}) {
      const ObjectKey wanted = key(*type, name);
      if (const TypedObject* object = state.find(*type, wanted.ns, wanted.name))
        state.admissions().put(*object, state, now);
    }
    state.admissions().follow(now);
  }
  Texts done() {
    Texts all;
    for (int rounds = 0; rounds < 10; ++rounds) {
      feed();
      const Texts now_done = step();
      if (now_done.empty()) return all;
      all.insert(all.end(), now_done.begin(), now_done.end());
    }
    FAIL_CHECK("the reconcilers do not come to rest");
    return all;
  }
  std::optional<Duration> wakes_in() {
    feed();
    const Plan plan = reconcile(workload_key());
    return plan.again_at ? std::optional(*plan.again_at - now.wall) : std::nullopt;
  }

  FlavorHistory history() const { return read_flavor_history(status(kWorkloads, "wl")); }
  // "spot:600!TimeoutForPodsReadyExceeded on-demand:0".
  std::string tried() const {
    std::string text;
    for (const FlavorAttempt& attempt : history().attempts)
      text += (text.empty() ? "" : " ") + attempt.flavor + ":" + std::to_string(attempt.used_seconds) +
              (attempt.failure ? "!" + attempt.failure->reason : "");
    return text;
  }
  std::string evicted() const { return workload_condition("Evicted"); }
  int fallbacks() const {
    return static_cast<int>(std::count_if(measurements.begin(), measurements.end(), [](const Measurement& measured) {
      return measured.what == Measured::kFlavorFallback;
    }));
  }
};

json timeouts(int spot, int on_demand = 0) {
  json rules = {{{"name", "reservation"}, {"timeoutMinutes", 10}}, {{"name", "spot"}, {"timeoutMinutes", spot}}};
  if (on_demand > 0) rules.push_back({{"name", "on-demand"}, {"timeoutMinutes", on_demand}});
  return rules;
}

}  // namespace

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
  CHECK(cluster.events == Texts{"EvictedDueToFlavorFallback"});
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
  CHECK(std::count(cluster.events.begin(), cluster.events.end(), "FlavorsExhausted") == 3);
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
