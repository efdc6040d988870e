// Pods and Workloads of the recorded lines about pods and what makes them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/constants.h"
#include "test/reconcilers/job/job_vectors.h"
#include "test/support/recorded_gates.h"

namespace muster::test {

inline constexpr const char* kKubelet = "test/kubelet";

inline json usual_objects() {
  const auto pod_class = [](const char* name, int value) {
    return json{{"apiVersion", "scheduling.k8s.io/v1"},
                {"kind", "PriorityClass"},
                {"metadata", {{"name", name}}},
                {"value", value}};
  };
  return json::array({{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                       {"kind", "ResourceFlavor"},
                       {"metadata", {{"name", "f1"}}},
                       {"spec",
                        {{"nodeLabels", {{"type", "a"}}},
                         {"tolerations", {{{"key", "spot"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}}}}}},
                      pod_class("pod-high", 500),
                      pod_class("pod-low", -5),
                      {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                       {"kind", "WorkloadPriorityClass"},
                       {"metadata", {{"name", "high"}}},
                       {"value", 1000}}});
}

// The cluster of a line, without what it is about.
inline JobCluster cluster_of_pods(const json& input) {
  JobCluster cluster(settings_of(object_at(input, {"config"})), kRecordedServer);
  cluster.settings.queues.rules.feature_gates = test::recorded_gates(input);
  cluster.put(kNamespaces, kNs, {{"metadata", {{"labels", {{"kubernetes.io/metadata.name", kNs}}}}}});
  for (const json& object : usual_objects()) cluster.put(type_of_json(object), object);
  for (const json& workload : array_at(input, {"workloads"})) cluster.put(kWorkloads, workload);
  for (json pod : array_at(input, {"pods"})) {
    pod["metadata"]["finalizers"].push_back(kKubelet);
    cluster.put(kQueuedPods, pod);
  }
  return cluster;
}

// Without finalizers and deletion, which are compared apart.
inline json comparable_pod(json pod) {
  pod["metadata"].erase("finalizers");
  pod["metadata"].erase("deletionTimestamp");
  return comparable(pod);
}

inline const json* named(const json& list, std::string_view name, std::initializer_list<std::string_view> path) {
  for (const json& item : list) {
    if (string_at(item, path) == name) return &item;
  }
  return nullptr;
}

inline void check_pods(const JobCluster& cluster, const json& input, const json& recorded,
                       const std::set<std::string>& not_compared) {
  for (const json& out : recorded) {
    const std::string name = out["name"];
    if (not_compared.contains(name)) continue;
    INFO("pod ", name);
    const json ours = cluster.get(kQueuedPods, name);
    const bool deleted = ours.is_null() || ours["metadata"].contains("deletionTimestamp");
    const bool going = bool_at(out, {"gone"}) || bool_at(out, {"deleting"});
    CHECK(deleted == going);
    if (bool_at(out, {"gone"}) || ours.is_null()) continue;
    json expected = *named(array_at(input, {"pods"}), name, {"metadata", "name"});
    expected.merge_patch(out["mergePatch"]);
    CHECK(comparable_pod(ours) == comparable_pod(expected));
  }
}

inline json sorted(json list) {
  std::sort(list.begin(), list.end(), [](const json& a, const json& b) { return a.dump() < b.dump(); });
  return list;
}

inline json comparable_workload(json workload) {
  json& annotations = workload["metadata"]["annotations"];
  if (annotations.is_object()) {
    annotations.erase(std::string(kSucceededPodsAnnotation));
    annotations.erase(std::string(kRetriableInGroup));
  }
  for (json& pod_set : workload["spec"]["podSets"]) pod_set["template"].erase("metadata");
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    // The recordings merged a status that has no admission into one that had.
    if (condition["type"] == "QuotaReserved" && condition["status"] == "False") workload["status"].erase("admission");
  }
  return comparable(workload);
}

inline json comparable_workloads(const json& list) {
  json result = json::array();
  for (const json& workload : list) result.push_back(comparable_workload(workload));
  return result;
}

// The pod templates of a LeaderWorkerSet keep their metadata.
inline json comparable_workloads_with_metadata(const json& list) {
  json result = json::array();
  for (const json& workload : list) {
    json compared = comparable_workload(workload);
    json& pod_sets = compared["spec"]["podSets"];
    for (size_t i = 0; i < pod_sets.size(); ++i) {
      const json metadata = normalised(workload["spec"]["podSets"][i]["template"].value("metadata", json::object()));
      if (!metadata.empty()) pod_sets[i]["template"]["metadata"] = metadata;
    }
    result.push_back(std::move(compared));
  }
  return result;
}

}  // namespace muster::test
