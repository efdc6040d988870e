// What of a Workload's pods is asked for, as the scheduler sees it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/config_map.h"
#include "api/texts/unmet_requests.h"
#include "api/workload.h"
#include "scheduler/decision.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"
#include "state/demand/demand_source.h"
#include "state/index/indexes.h"
#include "state/quota_demand.h"
#include "test/state/deciding_cluster.h"

namespace quota_demand_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;

namespace {

// The pod sets whose demand was computed, in order.
Texts computed;

bool is_metered(const PodSet& pod_set) {
  return pod_set.name.starts_with("metered");
}

// The smallest source: pods of metered pod sets request the surcharge that a ConfigMap of their namespace names.
void add_surcharge(const DemandContext& context, DemandDraft& draft) {
  const ConfigMap* surcharge = context.state.find<ConfigMap>(context.ns, "surcharge");
  for (PodDemand& pod : draft.pods) {
    computed.push_back(pod.pod_set.name);
    if (surcharge == nullptr || !is_metered(pod.pod_set)) continue;
    const auto cpu = Quantity::parse(surcharge->data.at("cpu"));
    if (cpu)
      add(pod.requests, {{"cpu", *cpu}});
    else
      draft.refuse("the surcharge is no amount");
  }
}

void metered_workloads(const TypedObject& changed, const ClusterState& state, std::vector<WorkloadPtr>& workloads) {
  const auto* map = std::get_if<ConfigMapPtr>(&changed);
  if (map == nullptr || (*map)->meta.name != "surcharge") return;
  for (const WorkloadPtr& workload : state.share_in(kWorkloadsByQueue, (*map)->meta.ns)) {
    if (std::any_of(workload->pod_sets.begin(), workload->pod_sets.end(), is_metered)) workloads.push_back(workload);
  }
}

constexpr DemandSource kSurcharge{.name = "surcharge", .add = &add_surcharge, .affected = &metered_workloads};
// Another source for which the same objects count.
constexpr DemandSource kSameWorkloads{.name = "same_workloads", .affected = &metered_workloads};

DemandSources sources_with_surcharge() {
  static const std::vector<const DemandSource*> list = [] {
    const DemandSources own = all_demand_sources();
    std::vector<const DemandSource*> sources(own.begin(), own.end());
    sources.insert(sources.end(), {&kSurcharge, &kSameWorkloads});
    return sources;
  }();
  return list;
}

struct MeteredCluster : DecidingCluster {
  MeteredCluster() {
    decisions = SchedulerDriver(settings.queues, sources_with_surcharge());
    state.for_each([&](const TypedObject& object) { decisions.put(object, state, now()); });
  }
  // Its pod set has the name of the Workload.
  void put_named(const std::string& name, const json& pod_spec, const json& status = json::object()) {
    json workload = workload_of(1, {{"spec", pod_spec}});
    workload["spec"]["podSets"][0]["name"] = name;
    workload["status"] = status;
    put(kWorkloads, name, workload);
  }
  // Pending, admitted and finished Workloads with the pod sets pending-<name>, admitted-<name> and finished-<name>.
  void put_in_each_state(const std::string& name, const json& pod_spec) {
    json admission = admission_of(1, {{"cpu", "f1"}}, {{"cpu", "1"}});
    admission["podSetAssignments"][0]["name"] = "admitted-" + name;
    const auto is_true = [](const char* type) {
      return json::array({condition_at("2026-01-01T11:30:00Z", type, "True", "R")});
    };
    put_named("pending-" + name, pod_spec);
    put_named("admitted-" + name, pod_spec,
              {{"admission", std::move(admission)}, {"conditions", is_true("QuotaReserved")}});
    put_named("finished-" + name, pod_spec, {{"conditions", is_true("Finished")}});
    computed.clear();
  }
  bool admits(const std::string& name) {
    decide();
    return decision<scheduler::Admitted>(name) != nullptr;
  }
};

json spec_of(const json& requests, const char* runtime_class = "") {
  json spec = pod_template_of(requests)["spec"];
  if (*runtime_class != '\0') spec["runtimeClassName"] = runtime_class;
  return spec;
}

// In the order of their names.
Texts computed_since() {
  Texts names = std::exchange(computed, {});
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

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

TEST_CASE("scheduler driver: a changed RuntimeClass concerns the pending Workloads of this class only") {
  MeteredCluster cluster;
  cluster.put_in_each_state("kata", spec_of({{"cpu", "1"}}, "kata"));
  cluster.put_in_each_state("other", spec_of({{"cpu", "1"}}, "other"));
  cluster.put_in_each_state("bare", spec_of({{"cpu", "1"}}));
  const json overhead = {{"overhead", {{"podFixed", {{"cpu", "1"}}}}}};
  cluster.put(kRuntimeClasses, "kata", overhead);
  CHECK(computed_since() == Texts{"pending-kata"});
  cluster.put(kRuntimeClasses, "unused", overhead);
  CHECK(computed_since().empty());
  cluster.remove(kRuntimeClasses, "kata");
  CHECK(computed_since() == Texts{"pending-kata"});
  // A LimitRange concerns all pending Workloads of its namespace.
  cluster.put(kLimitRanges, "range", {{"spec", {{"limits", json::array()}}}});
  CHECK(computed_since() == Texts{"pending-bare", "pending-kata", "pending-other"});
  cluster.remove(kLimitRanges, "range");
  CHECK(computed_since() == Texts{"pending-bare", "pending-kata", "pending-other"});
}

TEST_CASE("scheduler driver: a source of requests counts, and its objects concern the Workloads that it names") {
  MeteredCluster cluster;
  const auto surcharge = [](const char* cpu) { return json{{"data", {{"cpu", cpu}}}}; };
  cluster.put(kConfigMaps, "surcharge", surcharge("9"));
  cluster.put_named("metered", spec_of({{"cpu", "2"}}));
  CHECK_FALSE(cluster.admits("metered"));
  // What is written of the refusal has the requests of the source too.
  cluster.pass(std::chrono::seconds(2));
  const reconcilers::Plan refused = cluster.plan_of("metered");
  REQUIRE(refused.writes.size() == 1);
  CHECK(refused.writes[0].body["status"]["resourceRequests"] ==
        json::parse(R"([{"name": "metered", "resources": {"cpu": "11"}}])"));

  cluster.put_named("free", spec_of({{"cpu", "11"}}));
  cluster.put_named("metered-finished", spec_of({{"cpu", "1"}}),
                    {{"conditions", {condition_at("2026-01-01T11:30:00Z", "Finished", "True", "R")}}});
  computed.clear();
  cluster.put(kConfigMaps, "other", surcharge("1"));
  CHECK(computed_since().empty());
  // Once, although two sources name it.
  cluster.put(kConfigMaps, "surcharge", surcharge("8"));
  CHECK(computed_since() == Texts{"metered"});
  CHECK(cluster.admits("metered"));
  cluster.remove(kConfigMaps, "surcharge");
  CHECK(computed_since() == Texts{"metered"});

  cluster.remove(kWorkloads, "metered");
  cluster.put(kConfigMaps, "surcharge", surcharge("much"));
  cluster.put_named("metered-late", spec_of({{"cpu", "1"}}));
  cluster.decide();
  const auto* misconfigured = cluster.decision<Inadmissible>("metered-late");
  REQUIRE(misconfigured != nullptr);
  CHECK(misconfigured->reason == "Misconfigured");
  CHECK(misconfigured->message == "the surcharge is no amount");
}

}  // namespace quota_demand_test
