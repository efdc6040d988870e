// LocalQueue, ClusterQueue and Cohort.
#include "api/conversion/conversion_fields.h"

namespace muster::conversion {
namespace {

using nlohmann::json;

constexpr std::string_view kMayStopSearch = "MayStopSearch";

void convert_quota(Fields& quota, QueueVersion to) {
  for (std::string_view amount : {"nominalQuota", "borrowingLimit", "lendingLimit"}) canonical_quantity(quota, amount);
  fill(quota, "nominalQuota", "0");
  if (to == QueueVersion::kV1Beta1)
    fill(quota, "name", "");
  else
    drop_empty(quota, {"name"});
}

void convert_resource_groups(Fields& spec, QueueVersion to) {
  drop_empty(spec, {"resourceGroups"});
  for_each_object(spec, "resourceGroups", [to](Fields& group) {
    for_each_object(group, "flavors", [to](Fields& flavor) {
      fill(flavor, "name", "");
      if (to == QueueVersion::kV1Beta1)
        fill(flavor, "resources", nullptr);
      else
        drop_empty(flavor, {"resources"});
      for_each_object(flavor, "resources", [to](Fields& quota) { convert_quota(quota, to); });
    });
    for (std::string_view list : {"coveredResources", "flavors"}) {
      if (to == QueueVersion::kV1Beta1)
        fill(group, list, nullptr);
      else
        drop_empty(group, {list});
    }
  });
}

void convert_fair_sharing(Fields& spec) {
  if (Fields* sharing = object_at(spec, "fairSharing")) canonical_quantity(*sharing, "weight");
}

// Only LocalQueues have an admission fair sharing status.
void convert_fair_sharing_status(Fields& status) {
  if (Fields* sharing = object_at(status, "fairSharing")) drop(*sharing, {"admissionFairSharingStatus"});
}

void fill_counts(Fields& status) {
  for (std::string_view count : {"admittedWorkloads", "pendingWorkloads", "reservingWorkloads"}) fill(status, count, 0);
}

// v1beta1 always prints these lists; v1beta2 prints them if they are not empty.
void convert_usage_list(Fields& status, std::string_view key, QueueVersion to) {
  if (to == QueueVersion::kV1Beta1)
    fill(status, key, nullptr);
  else
    drop_empty(status, {key});
}

void replace(Fields& fields, std::string_view key, std::string_view old_value, std::string_view value) {
  const auto found = fields.find(key);
  if (found != fields.end() && found->second == old_value) found->second = value;
}

// The old list replaces the newer form, with any content.
void convert_admission_checks(Fields& spec) {
  const json names = take(spec, "admissionChecks");
  if (!names.is_array() || names.empty()) return;
  json checks = json::array();
  for (const json& name : names) checks.push_back(json::object({{"name", name}}));
  spec["admissionChecksStrategy"] = json::object({{"admissionChecks", std::move(checks)}});
}

// The older spelling, which names the only existing strategy.
Outcome<> convert_fallback(Fields& fungibility) {
  if (!fungibility.contains("flavorFallbackStrategy")) return Done{};
  if (fungibility.contains("fallbackStrategy"))
    return fail(
        "spec.flavorFungibility: fallbackStrategy and flavorFallbackStrategy are two names of one field; give "
        "one of them");
  json strategy = take(fungibility, "flavorFallbackStrategy");
  if (strategy.is_object()) strategy.erase("strategy");
  fungibility["fallbackStrategy"] = std::move(strategy);
  return Done{};
}

// Texts that both versions omit if they are empty. Pointers (stopPolicy, preference) are printed.
void drop_empty_texts(Fields& spec) {
  drop_empty(spec, {"queueingStrategy", "cohort", "cohortName"});
  if (Fields* fungibility = object_at(spec, "flavorFungibility"))
    drop_empty(*fungibility, {"whenCanBorrow", "whenCanPreempt"});
  Fields* preemption = object_at(spec, "preemption");
  if (preemption == nullptr) return;
  drop_empty(*preemption, {"reclaimWithinCohort", "withinClusterQueue"});
  if (Fields* borrow = object_at(*preemption, "borrowWithinCohort")) drop_empty(*borrow, {"policy"});
}

Outcome<> convert_cluster_queue_spec(Fields& spec, QueueVersion to) {
  if (to == QueueVersion::kV1Beta2) {
    rename(spec, "cohort", "cohortName");
    convert_admission_checks(spec);
    if (Fields* fungibility = object_at(spec, "flavorFungibility")) {
      replace(*fungibility, "whenCanBorrow", "Borrow", kMayStopSearch);
      replace(*fungibility, "whenCanPreempt", "Preempt", kMayStopSearch);
      if (auto converted = convert_fallback(*fungibility); !converted) return converted;
    }
  } else {
    rename(spec, "cohortName", "cohort");
    drop(spec, {"admissionChecks"});
  }
  drop_empty_texts(spec);
  if (Fields* strategy = object_at(spec, "admissionChecksStrategy")) {
    for_each_object(*strategy, "admissionChecks", [to](Fields& check) {
      drop_empty(check, {"onFlavors"});
      if (to == QueueVersion::kV1Beta1)
        fill(check, "name", "");
      else
        drop_empty(check, {"name"});
    });
  }
  convert_resource_groups(spec, to);
  convert_fair_sharing(spec);
  return Done{};
}

}  // namespace

Outcome<> convert_local_queue(Fields& spec, Fields& status, QueueVersion to) {
  std::erase_if(spec, [](const auto& field) {
    return field.first != "clusterQueue" && field.first != "stopPolicy" && field.first != "fairSharing";
  });
  drop_empty(spec, {"clusterQueue"});
  convert_fair_sharing(spec);
  convert_conditions(status);
  fill_counts(status);
  const bool old = to == QueueVersion::kV1Beta1;
  if (old)
    rename(status, "flavorsUsage", "flavorUsage");
  else
    rename(status, "flavorUsage", "flavorsUsage");
  drop(status, {"flavors"});
  convert_usage_list(status, "flavorsReservation", to);
  convert_usage_list(status, old ? "flavorUsage" : "flavorsUsage", to);
  return Done{};
}

Outcome<> convert_cluster_queue(Fields& spec, Fields& status, QueueVersion to) {
  if (auto converted = convert_cluster_queue_spec(spec, to); !converted) return converted;
  convert_conditions(status);
  convert_fair_sharing_status(status);
  fill_counts(status);
  convert_usage_list(status, "flavorsReservation", to);
  convert_usage_list(status, "flavorsUsage", to);
  drop(status, {"pendingWorkloadsStatus"});
  if (to == QueueVersion::kV1Beta1) status["pendingWorkloadsStatus"] = nullptr;
  return Done{};
}

Outcome<> convert_cohort(Fields& spec, Fields& status, QueueVersion to) {
  drop_empty(spec, {"parentName"});
  convert_resource_groups(spec, to);
  convert_fair_sharing(spec);
  convert_fair_sharing_status(status);
  return Done{};
}

}  // namespace muster::conversion
