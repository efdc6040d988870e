#include "engine/recording/redaction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "base/encoding.h"
#include "jobs/group_scheduling.h"

namespace muster::recording {
namespace {

using nlohmann::json;

constexpr int kDeepest = 500;
constexpr size_t kHashDigits = 24;

struct Walk {
  const Close& close;
  int depth = 0;

  Walk deeper() const { return {close, depth + 1}; }
};
using Part = json (*)(const json& value, const Walk& walk);
struct Member {
  std::string_view key;
  Part part;
};

json closed(const json& value, const Walk& walk) {
  if (walk.depth > kDeepest) return nullptr;
  if (const auto* text = value.get_ptr<const std::string*>()) return text->empty() ? json("") : json(walk.close(*text));
  json kept = value.is_object() ? json::object() : json::array();
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) kept[key] = closed(member, walk.deeper());
  } else if (value.is_array()) {
    for (const json& item : value) kept.push_back(closed(item, walk.deeper()));
  } else {
    kept = value;
  }
  return kept;
}

json open(const json& value, const Walk& walk) {
  if (walk.depth > kDeepest) return nullptr;
  if (!value.is_structured()) return value;
  json kept = value.is_object() ? json::object() : json::array();
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) kept[key] = open(member, walk.deeper());
  } else {
    for (const json& item : value) kept.push_back(open(item, walk.deeper()));
  }
  return kept;
}

Part part_of(std::span<const Member> table, std::string_view key, Part others) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Member& row) { return row.key == key; });
  return found == table.end() ? others : found->part;
}

// A struct: the members of the table as it says, every other one by `others`.
json struct_of(const json& value, const Walk& walk, std::span<const Member> table, Part others = closed) {
  if (!value.is_object() || walk.depth > kDeepest) return closed(value, walk);
  json kept = json::object();
  for (const auto& [key, member] : value.items()) kept[key] = part_of(table, key, others)(member, walk.deeper());
  return kept;
}

template <Part part>
json each(const json& value, const Walk& walk) {
  if (!value.is_array() || walk.depth > kDeepest) return closed(value, walk);
  json kept = json::array();
  for (const json& item : value) kept.push_back(part(item, walk.deeper()));
  return kept;
}

// --- Metadata ---

bool is_of(std::string_view key, std::string_view domain) {
  const std::string_view host = key.substr(0, std::min(key.find('/'), key.size()));
  return host.size() < key.size() && (host == domain || host.ends_with("." + std::string(domain)));
}

bool is_whole_number(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && text->size() <= 10 &&
         std::all_of(text->begin(), text->end(), [](char letter) { return letter >= '0' && letter <= '9'; });
}

// Of Kubernetes and its projects, of muster, and the index that an annotation of a pod group can name.
json labels(const json& value, const Walk& walk) {
  if (!value.is_object()) return closed(value, walk);
  json kept = json::object();
  for (const auto& [key, label] : value.items()) {
    const bool is_read = is_of(key, "k8s.io") || is_of(key, "x-k8s.io") || is_of(key, "kubernetes.io") ||
                         is_of(key, "muster.batch") || key == "controller-uid" || key == "job-name" ||
                         is_whole_number(label);
    kept[key] = is_read ? open(label, walk.deeper()) : closed(label, walk.deeper());
  }
  return kept;
}

// kubectl's own annotation is of kubernetes.io, and holds the whole manifest: no such domain is kept as a whole.
json annotations(const json& value, const Walk& walk) {
  if (!value.is_object()) return closed(value, walk);
  json kept = json::object();
  for (const auto& [key, annotation] : value.items()) {
    const bool is_read = is_of(key, "kueue.x-k8s.io") || is_of(key, "jobset.sigs.k8s.io") ||
                         is_of(key, "muster.batch") || is_of(key, "leaderworkerset.sigs.k8s.io") ||
                         is_of(key, "batch.kubernetes.io") || is_of(key, "workload.codeflare.dev.appwrapper") ||
                         key == "ray.io/ft-enabled";
    kept[key] = is_read ? open(annotation, walk.deeper()) : closed(annotation, walk.deeper());
  }
  return kept;
}

constexpr Member kMeta[] = {
    {"name", open},
    {"generateName", open},
    {"namespace", open},
    {"uid", open},
    {"resourceVersion", open},
    {"creationTimestamp", open},
    {"deletionTimestamp", open},
    {"finalizers", open},
    {"ownerReferences", open},
    {"labels", labels},
    {"annotations", annotations},
};
json meta(const json& value, const Walk& walk) {
  return struct_of(value, walk, kMeta);
}

// Of what administrators make: selectors of queues go by any label.
json admin_meta(const json& value, const Walk& walk) {
  static constexpr Member kOthers[] = {{"labels", open}, {"managedFields", open}};
  json kept = struct_of(value, walk, kMeta);
  for (const Member& row : kOthers) {
    if (value.is_object() && value.contains(row.key)) kept[std::string(row.key)] = open(value[row.key], walk.deeper());
  }
  return kept;
}

// --- Pods ---

json env(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open}};
  return struct_of(value, walk, kRows);
}

json named(const json& value, const Walk& walk) {
  return env(value, walk);
}

json container(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open},          {"resources", open}, {"ports", open},
                                     {"restartPolicy", open}, {"env", each<env>},  {"volumeMounts", each<named>}};
  json kept = struct_of(value, walk, kRows);
  // The start barrier's own argument.
  if (string_at(value, {"name"}) != kGroupInitContainer || !array_at(kept, {"args"}).size()) return kept;
  constexpr std::string_view kTimeout = "--timeout-seconds=";
  for (size_t i = 0; i < kept["args"].size(); ++i) {
    const auto* text = value["args"][i].get_ptr<const std::string*>();
    if (text != nullptr && text->starts_with(kTimeout) && is_whole_number(text->substr(kTimeout.size())))
      kept["args"][i] = *text;
  }
  return kept;
}

json volume(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open}, {"configMap", named}};
  return struct_of(value, walk, kRows);
}

constexpr Member kPodSpec[] = {
    {"containers", each<container>},
    {"initContainers", each<container>},
    {"ephemeralContainers", each<container>},
    {"volumes", each<volume>},
    {"nodeSelector", open},
    {"tolerations", open},
    {"affinity", open},
    {"priorityClassName", open},
    {"preemptionPolicy", open},
    {"runtimeClassName", open},
    {"schedulerName", open},
    {"restartPolicy", open},
    {"overhead", open},
    {"resources", open},
    {"resourceClaims", open},
    {"schedulingGates", open},
    {"topologySpreadConstraints", open},
    {"nodeName", open},
    {"subdomain", open},
};
json pod_spec(const json& value, const Walk& walk) {
  return struct_of(value, walk, kPodSpec);
}

json pod_template(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"metadata", meta}, {"spec", pod_spec}};
  return struct_of(value, walk, kRows);
}

// What a process has written into /dev/termination-log is its user's.
json ended_container(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"message", closed}};
  return struct_of(value, walk, kRows, open);
}
json container_state(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"terminated", ended_container}, {"waiting", open}, {"running", open}};
  return struct_of(value, walk, kRows);
}
json container_status(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"name", open}, {"state", container_state}, {"lastState", container_state}};
  return struct_of(value, walk, kRows);
}
json pod_status(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{"phase", open},
                                     {"reason", open},
                                     {"message", open},
                                     {"conditions", open},
                                     {"nominatedNodeName", open},
                                     {"startTime", open},
                                     {"qosClass", open},
                                     {"containerStatuses", each<container_status>},
                                     {"initContainerStatuses", each<container_status>}};
  return struct_of(value, walk, kRows);
}

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

// --- Kinds that are described (api/kinds/) ---

const std::set<std::string_view> kOpenWhole = {"resources",       "requests",        "limits",     "nodeSelector",
                                               "tolerations",     "affinity",        "runtimeRef", "resourcesPerNode",
                                               "schedulingGates", "topologyRequest", "quantity",   "priorityClassName",
                                               "runtimeClassName"};
const std::set<std::string_view> kOpenNames = {
    "name", "groupName", "kind",  "apiVersion", "apiGroup",    "managedBy", "submissionMode", "restartPolicy",
    "path", "manager",   "time",  "memory",     "coreRequest", "coreLimit", "memoryOverhead", "memoryOverheadFactor",
    "type", "mode",      "cores", "serviceName"};
const std::set<std::string_view> kContainers = {"containers", "initContainers", "sidecars"};
// Maps with keys of users, in which "name" is no name.
const std::set<std::string_view> kFreeMaps = {"data",    "stringData", "binaryData", "env",
                                              "envVars", "envFrom",    "args",       "command"};
// Structs of these kinds, in which a name is a name.
const std::set<std::string_view> kStructs = {"spec",
                                             "rayClusterSpec",
                                             "rayClusterConfig",
                                             "headGroupSpec",
                                             "workerGroupSpecs",
                                             "trainer",
                                             "driver",
                                             "executor",
                                             "components",
                                             "podSets",
                                             "podSetInfos",
                                             "runtimePatches",
                                             "trainingRuntimeSpec",
                                             "template",
                                             "replicatedJobs",
                                             "mlPolicy",
                                             "leaderTemplate",
                                             "workerTemplate",
                                             "leaderWorkerTemplate",
                                             "autoscalerOptions",
                                             "podTemplateOverrides",
                                             "dynamicAllocation"};

bool has_array(const json& value, std::initializer_list<std::string_view> path) {
  const json* found = find_path(value, path);
  return found != nullptr && found->is_array();
}

json described(const json& value, const Walk& walk);
json unknown(const json& value, const Walk& walk);

// `names`: in a struct that is known, some strings are names and amounts.
json described_member(const std::string& key, const json& value, const Walk& walk, bool names) {
  if (key == "metadata") return meta(value, walk);
  if (key == "labels") return labels(value, walk);
  if (key == "annotations") return annotations(value, walk);
  if (kFreeMaps.contains(key)) return closed(value, walk);
  if (kContainers.contains(key)) return each<container>(value, walk);
  if (names && kOpenWhole.contains(key)) return open(value, walk);
  if (!value.is_structured()) return names && kOpenNames.contains(key) ? open(value, walk) : closed(value, walk);
  return names && (kStructs.contains(key) || key.ends_with("ReplicaSpecs")) ? described(value, walk)
                                                                            : unknown(value, walk);
}

json described_value(const json& value, const Walk& walk, bool names) {
  if (walk.depth > kDeepest || !value.is_structured()) return closed(value, walk);
  if (value.is_array()) {
    json kept = json::array();
    for (const json& item : value) kept.push_back(described_value(item, walk.deeper(), names));
    return kept;
  }
  if (has_array(value, {"spec", "containers"})) return pod_template(value, walk);
  if (has_array(value, {"containers"})) return pod_spec(value, walk);
  json kept = json::object();
  for (const auto& [key, member] : value.items()) {
    // Replicas of Kubeflow's jobs: their keys are roles.
    const bool role = names && member.is_object() && member.contains("template") && member.contains("replicas");
    kept[key] =
        role ? described_value(member, walk.deeper(), true) : described_member(key, member, walk.deeper(), names);
  }
  return kept;
}

json described(const json& value, const Walk& walk) {
  return described_value(value, walk, true);
}
json unknown(const json& value, const Walk& walk) {
  return described_value(value, walk, false);
}

// --- ConfigMaps ---

// The ledger of a gang.
json ledger(const json& value, const Walk& walk) {
  static constexpr Member kRows[] = {{kGroupStartedKey, open}, {kGroupExpiredKey, open}, {kGroupDeadlinesKey, open}};
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
  std::string_view plural;
  std::span<const Member> table;
};
constexpr Kind kKinds[] = {
    {kJobs.plural, kJob},   {kJobSets.plural, kJobSet},           {kWorkloads.plural, kWorkload},
    {kPods.plural, kPod},   {kQueuedPods.plural, kPod},           {kConfigMaps.plural, kConfigMap},
    {kServices.plural, {}}, {kPersistentVolumeClaims.plural, {}},
};

// What administrators write, and where no user's text is: kept, but for annotations and descriptions.
bool is_of_admins(const ResourceType& type) {
  for (const ResourceType* kind :
       {&kNamespaces, &kLimitRanges, &kLocalQueues, &kClusterQueues, &kCohorts, &kResourceFlavors, &kAdmissionChecks,
        &kWorkloadPriorityClasses, &kPriorityClasses, &kRuntimeClasses, &kCustomResourceDefinitions,
        &kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations}) {
    if (kind->plural == type.plural) return true;
  }
  return type.group == "apiregistration.k8s.io";
}

std::span<const Member> table_of(const ResourceType& type) {
  for (const Kind& kind : kKinds) {
    if (kind.plural == type.plural && (type.group.empty() || kind.plural != kPods.plural)) return kind.table;
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
