#include "commands/moving/rules/dump_parts.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/pod_phase.h"
#include "jobs/queue_fields.h"
#include "kinds/unqueued_kinds.h"

namespace muster::commands {
namespace {

using nlohmann::json;
using Fields = std::initializer_list<const char*>;

json chosen(const json& object, Fields fields) {
  json kept = json::object();
  if (!object.is_object()) return kept;
  for (const char* field : fields) {
    if (const auto found = object.find(field); found != object.end()) kept[field] = *found;
  }
  return kept;
}

json chosen_of_each(const json& list, Fields fields) {
  json kept = json::array();
  for (const json& item : list) kept.push_back(chosen(item, fields));
  return kept;
}

json summary_of(const json& object, const json& metadata, json spec, json status) {
  return {{"apiVersion", string_at(object, {"apiVersion"})},
          {"kind", string_at(object, {"kind"})},
          {"metadata", metadata},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

// Those of Kueue and muster.
json own_annotations(const json& pod) {
  json kept = json::object();
  for (const auto& item : object_at(pod, {"metadata", "annotations"}).items()) {
    if (item.key().starts_with(kKueueKeyPrefix) || item.key().starts_with(kMusterKeyPrefix))
      kept[item.key()] = item.value();
  }
  return kept;
}

// A terminated container's message can be the end of its log.
void drop_last_words(json& status) {
  for (const char* list : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    if (!status.contains(list) || !status[list].is_array()) continue;
    for (json& container : status[list]) {
      for (const char* state : {"state", "lastState"}) {
        if (find_path(container, {state, "terminated"}) != nullptr && container[state]["terminated"].is_object())
          container[state]["terminated"].erase("message");
      }
    }
  }
}

}  // namespace

json definition_summary(const json& definition) {
  const json& spec = object_at(definition, {"spec"});
  json kept = chosen(spec, {"group", "names", "scope"});
  kept["versions"] = chosen_of_each(array_at(spec, {"versions"}), {"name", "served", "storage", "deprecated"});
  kept["conversion"] = chosen(object_at(spec, {"conversion"}), {"strategy"});
  if (const json& service = object_at(spec, {"conversion", "webhook", "clientConfig", "service"}); !service.empty())
    kept["conversion"]["service"] = service;
  const json metadata = chosen(object_at(definition, {"metadata"}), {"name", "labels", "creationTimestamp",
                                                                     "deletionTimestamp", "finalizers", "generation"});
  return summary_of(definition, metadata, std::move(kept), object_at(definition, {"status"}));
}

json node_summary(json node) {
  if (node.contains("status") && node["status"].is_object()) node["status"].erase("images");
  return node;
}

std::set<std::string> namespaces_of_late_jobs(const ClusterDump& dump) {
  std::set<std::string> namespaces;
  for (const json* workload : dump.of_kind("kueue.x-k8s.io", "Workload")) {
    if (jobs::condition_is_true(*workload, "Admitted") && !jobs::condition_is_true(*workload, "Finished") &&
        !jobs::condition_is_true(*workload, "PodsReady"))
      namespaces.emplace(string_at(*workload, {"metadata", "namespace"}));
  }
  return namespaces;
}

bool is_late(const json& pod) {
  return !pod_has_ended(pod) && !jobs::condition_is_true(pod, "Ready");
}

json late_pod_summary(const json& pod) {
  json metadata = chosen(object_at(pod, {"metadata"}), {"name", "namespace", "uid", "labels", "ownerReferences",
                                                        "finalizers", "creationTimestamp", "deletionTimestamp"});
  metadata["annotations"] = own_annotations(pod);
  const json& spec = object_at(pod, {"spec"});
  json kept = chosen(spec, {"nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints",
                            "schedulingGates", "schedulerName", "priority", "priorityClassName", "restartPolicy",
                            "runtimeClassName", "serviceAccountName", "resources", "overhead"});
  for (const char* list : {"containers", "initContainers"})
    kept[list] =
        chosen_of_each(array_at(spec, {list}), {"name", "image", "imagePullPolicy", "resources", "restartPolicy"});
  json status = object_at(pod, {"status"});
  drop_last_words(status);
  return summary_of(pod, metadata, std::move(kept), std::move(status));
}

}  // namespace muster::commands
