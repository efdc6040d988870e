// A ClusterQueue with very many pending Workloads, for benchmarks of what people read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::bench {

// The objects, and the scheduler that is fed with them.
struct PendingCluster {
  state::ClusterState state;
  state::SchedulerDriver decisions{QueueSettings()};
};

inline void put(PendingCluster& cluster, const ResourceType& type, const nlohmann::json& object) {
  const TypedObject typed = read_object(type, object);
  cluster.state.put_watched(typed);
  const ObjectKey key = key_of(typed);
  cluster.decisions.put(*cluster.state.find(type, key.ns, key.name), cluster.state, system_clock().now());
}

inline nlohmann::json meta(const std::string& name, const std::string& ns, int version) {
  nlohmann::json made = {{"name", name},
                         {"uid", name},
                         {"resourceVersion", std::to_string(version)},
                         {"creationTimestamp", "2026-01-01T00:00:00Z"}};
  if (!ns.empty()) made["namespace"] = ns;
  return made;
}

// `count` Workloads of 100 LocalQueues of ClusterQueue "cq", which has no quota.
inline void fill(PendingCluster& cluster, int count) {
  using nlohmann::json;
  int version = 1;
  put(cluster, kResourceFlavors, {{"metadata", meta("f", "", ++version)}});
  put(cluster, kClusterQueues,
      {{"metadata", meta("cq", "", ++version)},
       {"spec",
        {{"namespaceSelector", json::object()},
         {"resourceGroups",
          {{{"coveredResources", {"cpu"}},
            {"flavors", {{{"name", "f"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", "0"}}}}}}}}}}}}});
  for (int team = 0; team < 100; ++team) {
    const std::string ns = "team-" + std::to_string(team);
    put(cluster, kNamespaces, {{"metadata", meta(ns, "", ++version)}});
    put(cluster, kLocalQueues, {{"metadata", meta("lq", ns, ++version)}, {"spec", {{"clusterQueue", "cq"}}}});
  }
  json workload = {
      {"spec",
       {{"queueName", "lq"},
        {"podSets",
         {{{"name", "main"},
           {"count", 1},
           {"template",
            {{"spec", {{"containers", {{{"name", "main"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}}}}}}}}};
  for (int i = 0; i < count; ++i) {
    workload["metadata"] =
        meta("job-" + std::to_string(i * 7919 % count), "team-" + std::to_string(i % 100), ++version);
    workload["spec"]["priority"] = i % 10;
    put(cluster, kWorkloads, workload);
  }
  cluster.decisions.follow(system_clock().now());
}

}  // namespace muster::bench
