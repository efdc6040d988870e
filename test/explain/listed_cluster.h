// A cluster for the tests of lists, and its lists as lines.
#pragma once

#include <string>
#include <vector>

#include "explain/lists/queue_list.h"
#include "explain/lists/workload_list.h"
#include "test/explain/explain_cluster.h"

namespace muster::test {

inline explain::QueueSnapshot snapshot_of(const ExplainCluster& cluster) {
  return explain::QueueSnapshot(explain::take_queue_listing(cluster.state, cluster.decisions, true, cluster.now()));
}

inline json in_namespace(const std::string& ns, json patch = json::object()) {
  patch["metadata"]["namespace"] = ns;
  return patch;
}

// "name state reason position/position", one for each item.
inline std::vector<std::string> lines_of(const json& list) {
  std::vector<std::string> lines;
  for (const json& item : list["items"]) {
    std::string line = item["name"].get<std::string>() + " " + item["state"].get<std::string>() + " " +
                       item["reason"].get<std::string>();
    if (item.contains("positionInClusterQueue"))
      line += " " + item["positionInClusterQueue"].dump() + "/" + item["positionInLocalQueue"].dump();
    lines.push_back(line);
  }
  return lines;
}

inline json list_workloads(const explain::QueueSnapshot& snapshot, const explain::WorkloadFilter& filter) {
  const auto list = explain::workload_list(snapshot, filter);
  REQUIRE(list.ok());
  return *list;
}

// Two namespaces share the ClusterQueue; one Workload holds quota, three wait, one is deactivated.
inline ExplainCluster filled() {
  ExplainCluster cluster;
  cluster.put(kNamespaces, {{"metadata", {{"name", "team-b"}}}});
  cluster.put(kLocalQueues,
              in_namespace("team-b", {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}}));
  cluster.put_other("holder", -30, "3", cluster.admitted());
  cluster.put_other("second", -20, "3");
  cluster.put_other("first", -25, "3", in_namespace("team-b"));
  cluster.put_other("third", -10, "3",
                    {{"metadata", {{"annotations", {{"kueue.x-k8s.io/admission-gated-by", "example.com/gate"}}}}}});
  cluster.put_other("off", -5, "3", {{"spec", {{"active", false}}}});
  cluster.follow();
  return cluster;
}

}  // namespace muster::test
