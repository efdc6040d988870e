// The Deployment and the pods of an installed muster.
#include <algorithm>
#include <map>

#include "api/codec/json.h"
#include "commands/moving/rules/adoption.h"
#include "commands/moving/rules/doctor.h"
#include "commands/moving/rules/pod_trouble.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// One finding for all pods that one remedy helps. The kubelet tells more of a cause in one pod than in another, so the
// longest sentence is taken.
void look_at_pods(const DoctorContext& context, Severity severity) {
  std::map<std::string, Finding> found;
  for (const json* pod : context.pods()) {
    auto trouble = trouble_of(*pod);
    if (!trouble) continue;
    Finding& finding = found[trouble->cause];
    finding.objects.push_back(object_name(*pod));
    if (finding.remedy.empty()) finding.remedy = std::move(trouble->remedy);
    if (finding.problem.size() < trouble->problem.size()) finding.problem = std::move(trouble->problem);
  }
  for (auto& entry : found) {
    Finding& finding = entry.second;
    context.add(severity, "muster-pod-waits", std::move(finding.objects), std::move(finding.problem),
                std::move(finding.remedy));
  }
}

// Why the ReplicaSet cannot create pods: a ResourceQuota, a Pod Security level, a webhook of others.
void look_at_creation(const DoctorContext& context, const json& deployment, Severity severity) {
  for (const json& condition : array_at(deployment, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) != "ReplicaFailure" || string_at(condition, {"status"}) != "True") continue;
    context.add(severity, "muster-pod-refused", {object_name(deployment)},
                "its pods cannot be created: " + std::string(string_at(condition, {"message"})),
                "change what this message names; the pods are then created without a further step; quotas and limits "
                "are in " +
                    context.kubectl() + "get resourcequota,limitrange -o yaml");
  }
}

// A log exists where a container runs.
std::string remedy_for_unready(const DoctorContext& context) {
  const std::vector<const json*> pods = context.pods();
  const bool running = std::any_of(pods.begin(), pods.end(), [](const json* pod) { return runs(*pod); });
  return context.kubectl() + (running ? "logs deployment/muster" : "get events --sort-by=.lastTimestamp");
}

}  // namespace

int64_t ready_replicas(const ClusterDump& dump, const std::string& ns) {
  const json* deployment = muster_deployment(dump, ns);
  return deployment == nullptr ? 0 : int_at(*deployment, {"status", "readyReplicas"}).value_or(0);
}

void doctor_pods(const DoctorContext& context) {
  const std::string& ns = context.facts.muster_namespace;
  const std::string name = "Deployment " + ns + "/muster";
  const json* deployment = muster_deployment(context.dump, ns);
  if (deployment == nullptr)
    return context.add(Severity::kBlocker, "muster-not-installed", {name}, "muster is not installed in this namespace",
                       "install it (docs/install.md), or name its namespace by --muster-namespace");
  const int64_t wanted = int_at(*deployment, {"spec", "replicas"}).value_or(1);
  const int64_t ready = ready_replicas(context.dump, ns);
  const Severity severity = ready > 0 ? Severity::kChange : Severity::kBlocker;
  look_at_pods(context, severity);
  look_at_creation(context, *deployment, severity);
  if (wanted == 0)
    context.add(Severity::kBlocker, "muster-scaled-down", {name},
                "muster has no replica: jobs with a queue are refused, and nothing is admitted",
                context.kubectl() + "scale deployment muster --replicas 2");
  else if (ready == 0)
    context.add(Severity::kBlocker, "muster-not-ready", {name},
                "no replica of muster is ready: jobs with a queue are refused, and nothing is admitted",
                remedy_for_unready(context));
  else if (ready < wanted)
    context.add(Severity::kChange, "muster-not-ready", {name},
                std::to_string(ready) + " of " + std::to_string(wanted) + " replicas are ready",
                context.kubectl() + "get pods, and " + context.kubectl() + "describe pods");
}

}  // namespace muster::commands
