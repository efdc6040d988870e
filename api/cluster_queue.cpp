#include "api/cluster_queue.h"

#include <nlohmann/json.hpp>

#include "api/check_controllers.h"
#include "api/codec/json.h"
#include "api/workload_conditions.h"

namespace muster {
namespace {

using nlohmann::json;

std::optional<Quantity> quantity_at(const json& object, std::string_view key) {
  const json* value = find_path(object, {key});
  if (value == nullptr || value->is_null()) return std::nullopt;
  auto quantity = Quantity::from_json(*value);
  return quantity ? std::optional(std::move(*quantity)) : std::nullopt;
}

std::vector<ResourceGroup> read_groups(const json& spec) {
  std::vector<ResourceGroup> groups;
  for (const json& item : array_at(spec, {"resourceGroups"})) {
    ResourceGroup group{.covered_resources = strings_at(item, {"coveredResources"}), .flavors = {}};
    for (const json& flavor : array_at(item, {"flavors"})) {
      FlavorQuotas quotas{.name = std::string(string_at(flavor, {"name"})), .resources = {}};
      for (const json& resource : array_at(flavor, {"resources"})) {
        quotas.resources.push_back({.name = std::string(string_at(resource, {"name"})),
                                    .nominal = quantity_at(resource, "nominalQuota").value_or(Quantity()),
                                    .borrowing_limit = quantity_at(resource, "borrowingLimit"),
                                    .lending_limit = quantity_at(resource, "lendingLimit")});
      }
      group.flavors.push_back(std::move(quotas));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

StopPolicy read_stop_policy(const json& spec) {
  const std::string_view text = string_at(spec, {"stopPolicy"});
  if (text == "Hold") return StopPolicy::kHold;
  return text == "HoldAndDrain" ? StopPolicy::kHoldAndDrain : StopPolicy::kNone;
}

PreemptionPolicy read_policy(std::string_view text) {
  if (text == "LowerPriority") return PreemptionPolicy::kLowerPriority;
  if (text == "LowerOrNewerEqualPriority") return PreemptionPolicy::kLowerOrNewerEqualPriority;
  return text == "Any" ? PreemptionPolicy::kAny : PreemptionPolicy::kNever;
}

ClusterQueuePreemption read_preemption(const json& spec) {
  const json& object = object_at(spec, {"preemption"});
  ClusterQueuePreemption preemption{
      .within_cluster_queue = read_policy(string_at(object, {"withinClusterQueue"})),
      .reclaim_within_cohort = read_policy(string_at(object, {"reclaimWithinCohort"})),
      .borrow_within_cohort = read_policy(string_at(object, {"borrowWithinCohort", "policy"})),
      .max_priority_threshold = {}};
  if (int_at(object, {"borrowWithinCohort", "maxPriorityThreshold"}))
    preemption.max_priority_threshold = int32_at(object, {"borrowWithinCohort", "maxPriorityThreshold"});
  return preemption;
}

FlavorFungibility read_fungibility(const json& spec) {
  const json& object = object_at(spec, {"flavorFungibility"});
  const std::string_view preempt = string_at(object, {"whenCanPreempt"});
  return {.try_next_when_can_borrow = string_at(object, {"whenCanBorrow"}) == "TryNextFlavor",
          .try_next_when_can_preempt = preempt.empty() || preempt == "TryNextFlavor",
          .preference = string_at(object, {"preference"}) == "PreemptionOverBorrowing"
                            ? FungibilityPreference::kPreemptionOverBorrowing
                            : FungibilityPreference::kBorrowingOverPreemption};
}

// A selector that cannot be read selects no namespace; the webhook has refused it before.
LabelSelector read_selector(const json& spec) {
  const json* selector = find_path(spec, {"namespaceSelector"});
  auto parsed = LabelSelector::parse(selector == nullptr ? json() : *selector);
  return parsed ? std::move(*parsed) : LabelSelector();
}

std::vector<FlavorUsage> read_usage(const json& list) {
  std::vector<FlavorUsage> usages;
  for (const json& item : list) {
    FlavorUsage usage{.name = std::string(string_at(item, {"name"})), .resources = {}};
    for (const json& resource : array_at(item, {"resources"})) {
      usage.resources.push_back({.name = std::string(string_at(resource, {"name"})),
                                 .total = quantity_at(resource, "total").value_or(Quantity()),
                                 .borrowed = quantity_at(resource, "borrowed").value_or(Quantity())});
    }
    usages.push_back(std::move(usage));
  }
  return usages;
}

QueueStatus read_status(const json& object) {
  const json& status = object_at(object, {"status"});
  return {.conditions = read_conditions(array_at(status, {"conditions"})),
          .pending_workloads = int32_at(status, {"pendingWorkloads"}),
          .reserving_workloads = int32_at(status, {"reservingWorkloads"}),
          .admitted_workloads = int32_at(status, {"admittedWorkloads"}),
          .flavors_reservation = read_usage(array_at(status, {"flavorsReservation"})),
          .flavors_usage = read_usage(array_at(status, {"flavorsUsage"})),
          .weighted_share = int_at(status, {"fairSharing", "weightedShare"})};
}

json to_json(const std::vector<FlavorUsage>& usages) {
  json list = json::array();
  for (const FlavorUsage& usage : usages) {
    json resources = json::array();
    for (const ResourceUsage& resource : usage.resources) {
      resources.push_back(
          {{"name", resource.name}, {"total", resource.total.to_json()}, {"borrowed", resource.borrowed.to_json()}});
    }
    list.push_back({{"name", usage.name}, {"resources", std::move(resources)}});
  }
  return list;
}

}  // namespace

bool AdmissionCheck::has_no_controller() const {
  return has_no_check_controller(controller);
}

bool AdmissionCheck::active() const {
  return condition_is_true(conditions, kActiveCondition) && !has_no_controller();
}

json to_json(const QueueStatus& status) {
  return {{"conditions", to_json(status.conditions)},
          {"pendingWorkloads", status.pending_workloads},
          {"reservingWorkloads", status.reserving_workloads},
          {"admittedWorkloads", status.admitted_workloads},
          {"flavorsReservation", to_json(status.flavors_reservation)},
          {"flavorsUsage", to_json(status.flavors_usage)}};
}

ClusterQueuePtr read_cluster_queue(const json& object) {
  auto queue = std::make_shared<ClusterQueue>();
  const json& spec = object_at(object, {"spec"});
  queue->meta = read_meta(object);
  queue->cohort = string_at(spec, {"cohortName"});
  queue->resource_groups = read_groups(spec);
  if (string_at(spec, {"queueingStrategy"}) == "StrictFIFO") queue->queueing_strategy = QueueingStrategy::kStrictFifo;
  queue->namespace_selector = read_selector(spec);
  queue->preemption = read_preemption(spec);
  queue->protection = read_preemption_protection(queue->meta);
  queue->fungibility = read_fungibility(spec);
  // The second is v1beta1's other name, in manifests that no API server has converted.
  for (const char* name : {"fallbackStrategy", "flavorFallbackStrategy"}) {
    const json* fallback = find_path(spec, {"flavorFungibility", name});
    if (fallback != nullptr && fallback->is_object()) queue->fallback = read_fallback_strategy(*fallback);
  }
  for (const json& rule : array_at(spec, {"admissionChecksStrategy", "admissionChecks"})) {
    queue->admission_checks.push_back(
        {.name = std::string(string_at(rule, {"name"})), .on_flavors = strings_at(rule, {"onFlavors"})});
  }
  // The form of v1beta1, in manifests that no API server has converted.
  for (std::string& name : strings_at(spec, {"admissionChecks"})) {
    queue->admission_checks.push_back({.name = std::move(name), .on_flavors = {}});
  }
  queue->stop_policy = read_stop_policy(spec);
  queue->fair_weight = quantity_at(object_at(spec, {"fairSharing"}), "weight");
  if (find_path(spec, {"concurrentAdmissionPolicy"})) queue->unsupported.emplace_back("spec.concurrentAdmissionPolicy");
  if (string_at(spec, {"admissionScope", "admissionMode"}) == "UsageBasedAdmissionFairSharing")
    queue->unsupported.emplace_back("spec.admissionScope");
  queue->status = read_status(object);
  return queue;
}

LocalQueuePtr read_local_queue(const json& object) {
  auto queue = std::make_shared<LocalQueue>();
  const json& spec = object_at(object, {"spec"});
  queue->meta = read_meta(object);
  queue->cluster_queue = string_at(spec, {"clusterQueue"});
  queue->stop_policy = read_stop_policy(spec);
  queue->has_share = find_path(spec, {"fairSharing"}) != nullptr;
  queue->status = read_status(object);
  return queue;
}

CohortPtr read_cohort(const json& object) {
  auto cohort = std::make_shared<Cohort>();
  const json& spec = object_at(object, {"spec"});
  cohort->meta = read_meta(object);
  cohort->parent = string_at(spec, {"parentName"});
  cohort->resource_groups = read_groups(spec);
  cohort->fair_weight = quantity_at(object_at(spec, {"fairSharing"}), "weight");
  cohort->weighted_share = int_at(object, {"status", "fairSharing", "weightedShare"});
  return cohort;
}

ResourceFlavorPtr read_resource_flavor(const json& object) {
  auto flavor = std::make_shared<ResourceFlavor>();
  const json& spec = object_at(object, {"spec"});
  flavor->meta = read_meta(object);
  flavor->node_labels = read_string_map(object_at(spec, {"nodeLabels"}));
  flavor->node_taints = read_taints(array_at(spec, {"nodeTaints"}));
  flavor->tolerations = read_tolerations(array_at(spec, {"tolerations"}));
  flavor->topology = string_at(spec, {"topologyName"});
  flavor->fits_on_nodes = flavor->meta.annotation(kFitOnNodesAnnotation) == "true";
  return flavor;
}

AdmissionCheckPtr read_admission_check(const json& object) {
  auto check = std::make_shared<AdmissionCheck>();
  check->meta = read_meta(object);
  check->controller = string_at(object, {"spec", "controllerName"});
  check->conditions = read_conditions(array_at(object, {"status", "conditions"}));
  return check;
}

PriorityClassPtr read_priority_class(const json& object, bool for_pods) {
  auto priority_class = std::make_shared<PriorityClass>();
  priority_class->meta = read_meta(object);
  priority_class->for_pods = for_pods;
  priority_class->value = int32_at(object, {"value"});
  priority_class->global_default = for_pods && bool_at(object, {"globalDefault"});
  if (!for_pods) priority_class->protection = read_preemption_protection(priority_class->meta);
  return priority_class;
}

bool AdmissionCheckRule::applies_to(std::string_view flavor) const {
  return on_flavors.empty() || std::find(on_flavors.begin(), on_flavors.end(), flavor) != on_flavors.end();
}

bool AdmissionCheckRule::applies_to_any(const std::vector<std::string>& flavors) const {
  return on_flavors.empty() ||
         std::any_of(flavors.begin(), flavors.end(), [&](const std::string& flavor) { return applies_to(flavor); });
}

std::vector<std::string> flavors_of(const ClusterQueue& queue) {
  std::vector<std::string> names;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) names.push_back(flavor.name);
  }
  return names;
}

}  // namespace muster
