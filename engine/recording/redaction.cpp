#include "engine/recording/redaction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/in_place_pod.h"
#include "base/encoding.h"
#include "engine/recording/redaction_parts.h"
#include "jobs/group_scheduling.h"

namespace muster::recording {
namespace {

using namespace parts;
using nlohmann::json;

constexpr size_t kHashDigits = 24;

// --- Jobs and JobSets ---

json job_spec(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {
      {"completionMode", open},   {"managedBy", open},     {"selector", open},        {"podReplacementPolicy", open},
      {"podFailurePolicy", open}, {"successPolicy", open}, {"template", pod_template}};
  return struct_of(value, walk, kRows);
}

json job_template(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"metadata", meta}, {"spec", job_spec}};
  return struct_of(value, walk, kRows);
}

json replicated_job(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {
      {"name", open}, {"groupName", open}, {"dependsOn", open}, {"template", job_template}};
  return struct_of(value, walk, kRows);
}

json claim_template(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"metadata", meta}, {"spec", open}};
  return struct_of(value, walk, kRows);
}

json claim_policy(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"templates", each<claim_template>}, {"retentionPolicy", open}};
  return struct_of(value, walk, kRows);
}

json jobset_spec(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"replicatedJobs", each<replicated_job>},
                                     {"network", open},
                                     {"successPolicy", open},
                                     {"failurePolicy", open},
                                     {"startupPolicy", open},
                                     {"managedBy", open},
                                     {"coordinator", open},
                                     {"groupSchedulingConfig", open},
                                     {"volumeClaimPolicies", each<claim_policy>}};
  return struct_of(value, walk, kRows);
}

// --- Workloads ---

json pod_set(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open}, {"topologyRequest", open}, {"template", pod_template}};
  return struct_of(value, walk, kRows);
}

json workload_spec(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"queueName", open},
                                     {"priorityClassRef", open},
                                     {"priorityClassName", open},
                                     {"priorityClassSource", open},
                                     {"podSets", each<pod_set>}};
  return struct_of(value, walk, kRows);
}

json pod_set_update(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"labels", labels}, {"annotations", annotations}};
  return struct_of(value, walk, kRows, open);
}
json check_state(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"podSetUpdates", each<pod_set_update>}};
  return struct_of(value, walk, kRows, open);
}
json workload_status(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"admissionChecks", each<check_state>}};
  return struct_of(value, walk, kRows, open);
}

// --- ConfigMaps ---

// The ledger of a gang.
json ledger(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {
      {jobs::kGroupStartedKey, open}, {jobs::kGroupExpiredKey, open}, {jobs::kGroupDeadlinesKey, open}};
  return struct_of(value, walk, kRows);
}

constexpr Member kJob[] = {{"spec", job_spec}, {"status", open}};
constexpr Member kJobSet[] = {{"spec", jobset_spec}, {"status", open}};
constexpr Member kWorkload[] = {{"spec", workload_spec}, {"status", workload_status}};
constexpr Member kPod[] = {{"spec", pod_spec}, {"status", pod_status}};
constexpr Member kConfigMap[] = {{"data", ledger}};
constexpr Member kDescribed[] = {{"spec", described}, {"status", open}};
constexpr Member kAdmin[] = {{"description", closed}};

struct Kind {
  const ResourceType& type;
  std::span<const Member> table;
};
constexpr Kind kKinds[] = {
    {kJobs, kJob},
    {kJobSets, kJobSet},
    {kWorkloads, kWorkload},
    {kPods, kPod},
    {kQueuedPods, kPod},
    {kInPlacePods, kPod},
    {kConfigMaps, kConfigMap},
    {kServices, {}},
    {kPersistentVolumeClaims, {}},
};

// Only administrators write these objects, without texts of users: all fields are kept, except annotations and
// descriptions.
bool is_of_admins(const ResourceType& type) {
  for (const ResourceType* kind :
       {&kNamespaces, &kLimitRanges, &kLocalQueues, &kClusterQueues, &kCohorts, &kResourceFlavors, &kAdmissionChecks,
        &kWorkloadPriorityClasses, &kPriorityClasses, &kRuntimeClasses, &kCustomResourceDefinitions,
        &kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations}) {
    if (*kind == type) return true;
  }
  return type.group == "apiregistration.k8s.io";
}

std::span<const Member> table_of(const ResourceType& type) {
  for (const Kind& kind : kKinds) {
    if (kind.type == type) return kind.table;
  }
  return kDescribed;
}

}  // namespace

json redacted(const ResourceType& type, const json& object, const Close& close) {
  if (!object.is_object()) return closed(object, Walk{close});
  const Walk walk{close, 1};
  const bool admins = is_of_admins(type);
  const std::span<const Member> table = admins ? std::span<const Member>(kAdmin) : table_of(type);
  json kept = json::object();
  for (const auto& [key, value] : object.items()) {
    if (key == "apiVersion" || key == "kind")
      kept[key] = open(value, walk);
    else if (key == "metadata")
      kept[key] = admins ? admin_meta(value, walk) : meta(value, walk);
    else
      kept[key] = part_of(table, key, admins ? open : closed)(value, walk);
  }
  return kept;
}

Close keyed_hash(std::string key) {
  return
      [key = std::move(key)](std::string_view text) { return "~" + hmac_sha256_hex(key, text).substr(0, kHashDigits); };
}

Close same_for_all() {
  return [](std::string_view) { return std::string("~"); };
}

}  // namespace muster::recording
