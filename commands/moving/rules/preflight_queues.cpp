// Queues, flavors and checks: features that muster does not support, and checks without a controller.
#include <map>
#include <set>

#include "api/check_controllers.h"
#include "api/codec/json.h"
#include "api/review/cluster_view.h"
#include "commands/moving/rules/preflight.h"
#include "commands/review/review_judge.h"
#include "jobs/queue_fields.h"

namespace muster::commands {
namespace {

using nlohmann::json;
constexpr std::string_view kQueueGroup = "kueue.x-k8s.io";

// Findings that have a separate rule here.
bool is_said_elsewhere(const json& object, const ReviewFinding& finding) {
  const std::string_view kind = string_at(object, {"kind"});
  return (kind == "ResourceFlavor" && finding.field == "spec.topologyName") ||
         (kind == "AdmissionCheck" && finding.field == "spec.controllerName");
}

std::string remedy_for(const ReviewFinding& finding) {
  if (!finding.field.starts_with("spec.concurrentAdmissionPolicy")) return "change the object before the move";
  return "this field cannot change: create a second ClusterQueue without it, LocalQueues of the other for its jobs, "
         "and "
         "delete this one when it is empty";
}

// The check of a new object: the fields that muster refuses or does not know.
void judge_objects(const PreflightContext& context, const ClusterView& view, std::string_view kind) {
  for (const json* object : context.dump.of_kind(kQueueGroup, kind)) {
    JudgedRequest request;
    request.object = *object;
    request.object["metadata"].erase("finalizers");
    const ReviewedObject reviewed = judge_manifest(request, view, context.rules);
    for (const ReviewFinding& finding : reviewed.findings) {
      if (is_said_elsewhere(*object, finding)) continue;
      if (!finding.is_error) continue;
      const bool unknown = finding.rule == "unknown-field";
      context.add(unknown ? Severity::kChange : Severity::kHarm, unknown ? "field-without-effect" : "object-refused",
                  {object_name(*object)},
                  unknown ? "muster does not know " + finding.field + ": it stays in the object and has no effect"
                          : "muster would refuse this object if it were created now: " + finding.text(),
                  unknown ? "" : remedy_for(finding));
    }
  }
}

void find_topologies(const PreflightContext& context) {
  for (const json* flavor : context.dump.of_kind(kQueueGroup, "ResourceFlavor")) {
    const std::string_view topology = string_at(*flavor, {"spec", "topologyName"});
    if (topology.empty()) continue;
    context.add(
        Severity::kHarm, "flavor-with-topology", {object_name(*flavor)},
        "it names a Topology: muster has no topology-aware scheduling, so jobs that ask for a topology stay "
        "pending, and the others are placed anywhere in the flavor",
        "create a second flavor without spec.topologyName, name it in the ClusterQueues instead of this one, and "
        "delete this one; or keep Kueue for these queues");
  }
}

// ClusterQueues that need a check, by its name.
std::map<std::string, std::vector<std::string>> queues_by_check(const ClusterDump& dump) {
  std::map<std::string, std::vector<std::string>> queues;
  for (const json* queue : dump.of_kind(kQueueGroup, "ClusterQueue")) {
    for (const std::string& check : strings_at(*queue, {"spec", "admissionChecks"}))
      queues[check].push_back(object_name(*queue));
    for (const json& check : array_at(*queue, {"spec", "admissionChecksStrategy", "admissionChecks"}))
      queues[std::string(string_at(check, {"name"}))].push_back(object_name(*queue));
  }
  return queues;
}

void find_checks(const PreflightContext& context) {
  const auto queues = queues_by_check(context.dump);
  for (const json* check : context.dump.of_kind(kQueueGroup, "AdmissionCheck")) {
    const std::string name(string_at(*check, {"metadata", "name"}));
    const std::string controller(string_at(*check, {"spec", "controllerName"}));
    std::vector<std::string> objects = {object_name(*check)};
    if (const auto users = queues.find(name); users != queues.end())
      objects.insert(objects.end(), users->second.begin(), users->second.end());
    if (has_no_check_controller(controller))
      context.add(Severity::kHarm, "check-nobody-answers", objects,
                  "the controller " + controller +
                      " is part of Kueue and stops with it: Workloads of these queues would wait for ever",
                  "remove the check from the ClusterQueues before the move");
    else if (!jobs::condition_is_true(*check, "Active"))
      context.add(Severity::kHarm, "check-nobody-answers", objects,
                  "no process answers for the controller " + controller + " (the condition Active is not True)",
                  "start that controller, or remove the check from the ClusterQueues");
    else
      context.add(Severity::kNote, "check", objects, "the controller " + controller + " continues to work", "");
  }
}

void find_idle_kinds(const PreflightContext& context) {
  for (const char* kind : {"Topology", "MultiKueueConfig", "MultiKueueCluster", "ProvisioningRequestConfig"}) {
    for (const json* object : context.dump.of_kind(kQueueGroup, kind))
      context.add(Severity::kChange, "kind-without-effect", {object_name(*object)},
                  "muster does not act on objects of kind " + std::string(kind) + "; they stay as they are", "");
  }
}

}  // namespace

void preflight_queues(const PreflightContext& context) {
  ClusterView view;
  for (const auto& entry : context.dump.objects()) {
    const std::string_view kind = string_at(entry.second, {"kind"});
    if (kind == "Namespace" || entry.first.starts_with(kQueueGroup)) view.put(entry.second);
  }
  for (const char* kind :
       {"ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "AdmissionCheck", "WorkloadPriorityClass"})
    judge_objects(context, view, kind);
  find_topologies(context);
  find_checks(context);
  find_idle_kinds(context);
}

}  // namespace muster::commands
