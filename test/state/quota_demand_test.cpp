// What of a Workload's pods is asked for, as the scheduler sees it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/texts/unmet_requests.h"
#include "scheduler/decision.h"
#include "scheduler/scheduler.h"
#include "state/quota_demand.h"
#include "test/state/deciding_cluster.h"

namespace quota_demand_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;

TEST_CASE("scheduler driver: containers count where the pod as a whole claims to ask for less") {
  DecidingCluster cluster;
  const json container = {{"name", "c"}, {"resources", {{"requests", {{"cpu", "11"}}}}}};
  for (const auto& [name, cpu] : {std::pair("less", "1m"), std::pair("more", "12")}) {
    const json pod = {{"resources", {{"requests", {{"cpu", cpu}}}}}, {"containers", {container}}};
    cluster.put(kWorkloads, name, workload_of(1, {{"spec", pod}}));
    cluster.decide();
    CHECK_FALSE(cluster.decision<scheduler::Admitted>(name));
    CHECK(cluster.decision<Inadmissible>(name));
  }
}

TEST_CASE("scheduler driver: a changed RuntimeClass or LimitRange counts for the Workloads that wait") {
  DecidingCluster cluster;
  const auto admitted = [&](const char* name) {
    cluster.decide();
    return cluster.decision<scheduler::Admitted>(name) != nullptr;
  };
  const auto overhead = [](const char* cpu) { return json{{"overhead", {{"podFixed", {{"cpu", cpu}}}}}}; };
  const json container = {{"name", "c"}, {"resources", {{"requests", {{"cpu", "2"}}}}}};
  cluster.put(kRuntimeClasses, "kata", overhead("9"));
  cluster.put(kWorkloads, "kata",
              workload_of(1, {{"spec", {{"runtimeClassName", "kata"}, {"containers", {container}}}}}));
  CHECK_FALSE(admitted("kata"));
  cluster.put(kRuntimeClasses, "other", overhead("1"));
  CHECK_FALSE(admitted("kata"));
  cluster.put(kRuntimeClasses, "kata", overhead("1"));
  CHECK(admitted("kata"));
  cluster.remove(kWorkloads, "kata");

  const auto range = [](const char* cpu) {
    return json{{"spec", {{"limits", {{{"type", "Container"}, {"defaultRequest", {{"cpu", cpu}}}}}}}}};
  };
  cluster.put(kLimitRanges, "range", range("11"));
  cluster.put(kWorkloads, "bare", workload_of(1, {{"spec", {{"containers", {{{"name", "c"}}}}}}}));
  CHECK_FALSE(admitted("bare"));
  cluster.put(kLimitRanges, "range", range("10"));
  CHECK(admitted("bare"));
}

TEST_CASE("scheduler driver: a user who requests thousands of resources takes no memory for their names") {
  DecidingCluster cluster;
  const auto put = [&](const std::string& name, const json& requests) {
    cluster.put(kWorkloads, name, workload_of(1, pod_template_of(requests)));
  };
  for (int i = 0; i < 2; ++i) {
    json requests;
    for (int resource = 0; resource < 5000; ++resource)
      requests["example.com/" + std::to_string(i) + "-" + std::to_string(resource)] = "1";
    put("many" + std::to_string(i), requests);
  }
  put("honest", {{"example.com/gpu", "1"}});
  cluster.decide();
  const auto* refused = cluster.decision<Inadmissible>("honest");
  REQUIRE(refused != nullptr);
  CHECK(refused->message ==
        "couldn't assign flavors to pod set main: resource (one of thousands that no ClusterQueue has) unavailable in "
        "ClusterQueue");
  CHECK(cluster.decisions.scheduler().state().names.resource_count() <= scheduler::QuotaIdTable::kMostResources + 1);
  // When a ClusterQueue gets quota for it, it is this resource again.
  cluster.put(kClusterQueues, "cq",
              {{"spec",
                {{"namespaceSelector", json::object()},
                 {"resourceGroups",
                  {{{"coveredResources", {"cpu"}},
                    {"flavors", {{{"name", "f1"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", "10"}}}}}}}},
                   {{"coveredResources", {"example.com/gpu"}},
                    {"flavors",
                     {{{"name", "f1"}, {"resources", {{{"name", "example.com/gpu"}, {"nominalQuota", "1"}}}}}}}}}}}}});
  cluster.decide();
  CHECK(cluster.decision<scheduler::Admitted>("honest"));
}

TEST_CASE("scheduler driver: devices that pods claim are not counted so such Workloads wait") {
  json claims = pod_template_of({{"cpu", "1"}});
  claims["spec"]["resourceClaims"] = {{{"name", "gpu"}, {"resourceClaimTemplateName", "gpu"}}};
  DecidingCluster deciding;
  deciding.put(kWorkloads, "claims", workload_of(1, claims));
  deciding.decide();
  const auto* refused = deciding.decision<Inadmissible>("claims");
  REQUIRE(refused != nullptr);
  CHECK(refused->reason == "Misconfigured");
  CHECK(refused->message == kClaimsDevices);
  // As in Kueue, where this gate is off.
  ReconcilerSettings settings;
  settings.queues.rules.feature_gates = {{Gate::kKueueDRARejectWorkloadsWhenDRADisabled, false}};
  DecidingCluster counting_nothing(settings);
  counting_nothing.put(kWorkloads, "claims", workload_of(1, claims));
  counting_nothing.decide();
  CHECK(counting_nothing.decision<scheduler::Admitted>("claims") != nullptr);
}

}  // namespace quota_demand_test
