#include <set>
#include <string>

#include "api/codec/json.h"
#include "engine/recording/redaction_parts.h"

namespace muster::recording::parts {
namespace {

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

json unknown(const json& value, const Walk& walk) {
  return described_value(value, walk, false);
}

}  // namespace

json described(const json& value, const Walk& walk) {
  return described_value(value, walk, true);
}

}  // namespace muster::recording::parts
