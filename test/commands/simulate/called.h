// `muster simulate` as it is called, and a platform of two teams to call it with.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "commands/cli.h"
#include "test/support/temporary_folder.h"

namespace muster::test {

inline const std::string kQueues = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: on-demand}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: red}
spec:
  cohortName: all
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: on-demand, resources: [{name: cpu, nominalQuota: 10}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: blue}
spec:
  cohortName: all
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: on-demand, resources: [{name: cpu, nominalQuota: 10}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: red, namespace: team}
spec: {clusterQueue: red}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: blue, namespace: team}
spec: {clusterQueue: blue}
)";

inline std::string job(const std::string& name, const std::string& queue, int pods, const std::string& annotations) {
  return "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + name + "\n  namespace: team\n  labels: {" +
         "kueue.x-k8s.io/queue-name: " + queue + "}\n  annotations: {" + annotations +
         "}\nspec:\n  parallelism: " + std::to_string(pods) + "\n  completions: " + std::to_string(pods) +
         "\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: c, image: x, resources: "
         "{requests: {cpu: \"1\"}}}]\n";
}

inline const std::string kTwoJobs =
    job("small", "red", 4,
        "simulate.muster.batch/copies: \"5\", simulate.muster.batch/every: 1m, simulate.muster.batch/run-time: 30m") +
    job("big", "blue", 10, "simulate.muster.batch/arrival: 10m, simulate.muster.batch/run-time: 20m");

struct Answer {
  int code;
  std::string out, err;
};

inline Answer simulate(std::vector<std::string> arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  arguments.insert(arguments.begin(), "simulate");
  const int code = commands::run_command_line(arguments, {in, out, err});
  return {code, out.str(), err.str()};
}

struct Platform {
  TemporaryFolder folder;
  Platform() {
    folder.write("a/queues.yaml", kQueues);
    folder.write("a/jobs.yaml", kTwoJobs);
  }
  std::string path(const std::string& name) const { return folder / name; }
};

}  // namespace muster::test
