// Pods in queues and their Workloads, for tests of explanations.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "test/explain/explain_rows.h"

namespace muster::test {

inline ReconcilerSettings with_all_kinds() {
  ReconcilerSettings settings;
  for (const jobs::JobKind* kind : jobs::job_kinds()) settings.queues.rules.frameworks.emplace(kind->framework);
  return settings;
}

inline json queued_pod_of(const std::string& name, const json& patch = json::object()) {
  json spec = ExplainCluster::pod_template("3")["spec"];
  spec["schedulingGates"] = {{{"name", kAdmissionGate}}};
  json made = {{"metadata",
                {{"name", name},
                 {"uid", name + "-uid"},
                 {"creationTimestamp", "2026-01-01T11:00:00Z"},
                 {"labels", {{std::string(kQueueNameLabel), "lq"}, {std::string(kManagedLabel), "true"}}}}},
               {"spec", spec}};
  made.merge_patch(patch);
  return made;
}

inline json of_group(const std::string& group, int total) {
  return {{"metadata",
           {{"labels", {{std::string(kPodGroupName), group}}},
            {"annotations", {{std::string(kPodGroupTotalCount), std::to_string(total)}}}}}};
}

// Of one pod.
inline json workload_of_pod(const std::string& name, const json& patch = json::object()) {
  json made = ExplainCluster::workload(json::object(), "pod-" + name, name, name + "-uid");
  made["metadata"]["ownerReferences"] = controlled_by("v1", "Pod", name, name + "-uid");
  made["spec"]["podSets"][0]["count"] = 1;
  made.merge_patch(patch);
  return made;
}

inline json workload_of_group(const std::string& group, const std::vector<std::string>& pods,
                              const json& patch = json::object()) {
  json owners = json::array();
  for (const std::string& each : pods)
    owners.push_back({{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", each}, {"uid", each + "-uid"}});
  json made = ExplainCluster::workload(json::object(), group, group, group);
  made["metadata"]["ownerReferences"] = owners;
  made["metadata"]["annotations"][std::string(kIsGroupWorkload)] = "true";
  made.merge_patch(patch);
  return made;
}

}  // namespace muster::test
