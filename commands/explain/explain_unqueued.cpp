#include "commands/explain/explain_unqueued.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "api/pods/pod_reason.h"
#include "jobs/job_kind.h"
#include "jobs/workload_name.h"

namespace muster::commands {

using nlohmann::json;

namespace {

// muster's webhook gives a pod this label.
bool is_queued_pod(const UnqueuedKind& kind, const json& pod) {
  return kind.framework == jobs::plain_pod.framework && pod.is_object() &&
         label(pod, kManagedLabel) == kManagedLabelValue;
}

std::string workload_of_pod(const json& pod) {
  for (const auto& group : {label(pod, kPodGroupName), annotation(pod, kPodGroupName)})
    if (group) return std::string(*group);
  const json& metadata = object_at(pod, {"metadata"});
  return jobs::workload_name({"", "Pod", string_at(metadata, {"name"}), string_at(metadata, {"uid"})}, "",
                             jobs::max_workload_name(RuleSettings{}));
}

// The part that the pod alone shows; the state of its Workload is requested there.
void tell_of_pod(const json& pod, ExplainReply& reply) {
  bool gated = false;
  for (const json& gate : array_at(pod, {"spec", "schedulingGates"}))
    gated = gated || string_at(gate, {"name"}) == kAdmissionGate;
  const std::string phase(string_at(pod, {"status", "phase"}));
  if (gated)
    reply.because.push_back("The pod waits behind its scheduling gate " + std::string(kAdmissionGate) +
                            ", which muster removes when the Workload is admitted.");
  else
    reply.because.push_back("The pod has no gate any more: it was started" +
                            (phase.empty() ? std::string(".") : ", and its phase is " + phase + "."));
  const SeenPod seen = see_pod(pod);
  if (const auto late = why_pods_are_late({.owner = {.all = true}}, {seen}, {}); late && !gated)
    reply.because.push_back(sentence_of(*late) + ".");
  const auto count = annotation(pod, kPodGroupTotalCount), role = annotation(pod, kRoleHashAnnotation);
  if (!count) return;
  reply.because.push_back("Its group has " + std::string(*count) + " pods" +
                          (role ? ", and it counts in the pod set " + std::string(*role) + "." : std::string(".")));
}

// muster's webhook has marked the pod templates.
bool is_queued_set(const UnqueuedKind& kind, const json& object) {
  const jobs::JobKind* known = jobs::find_job_kind(kind.group, kind.kind);
  if (known == nullptr || !known->is_serving() || !object.is_object()) return false;
  for (const jobs::ConstPodTemplateRef& each : known->read_pod_templates(object)) {
    if (annotation(*each.template_json, kSuspendingParent)) return true;
  }
  return false;
}

void tell_of_set(const UnqueuedKind& kind, const json& object, ExplainReply& reply) {
  const jobs::JobKind* known = jobs::find_job_kind(kind.group, kind.kind);
  const auto ask = [&](const std::string& what) {
    reply.change.push_back("Ask about " + what + " -n " + reply.ns + ".");
  };
  const auto workload = [&](const std::string& owner) {
    const std::string_view uid = string_at(object, {"metadata", "uid"});
    return "workload/" +
           jobs::workload_name({kind.group, kind.kind, owner, uid}, "", jobs::max_workload_name(RuleSettings{}));
  };
  if (known == &jobs::deployment) {
    reply.say("QueuedAsPods", reply.subject() + " is queued pod by pod: each has a Workload.");
    return ask("one of its pods: muster explain pod/NAME");
  }
  reply.say("QueuedAsWorkload", reply.subject() + " waits or runs as " +
                                    (known == &jobs::stateful_set ? "its Workload." : "the Workloads of its groups."));
  if (known == &jobs::stateful_set) return ask("that one: muster explain " + workload(reply.name));
  const int64_t groups = int_at(object, {"spec", "replicas"}).value_or(1);
  reply.because.push_back("It has " + std::to_string(groups) + " groups, each of which is admitted as a whole.");
  ask("one of them; the first is: muster explain " + workload(reply.name + "-0"));
}

}  // namespace

ExplainReply explain_unqueued(const UnqueuedKind& kind, const std::string& ns, const std::string& name,
                              const json& object, const std::string& why_not) {
  ExplainReply reply;
  reply.kind = kind.kind;
  reply.ns = ns;
  reply.name = name;
  if (is_queued_pod(kind, object)) {
    reply.say("QueuedAsWorkload", reply.subject() + " waits or runs as a part of its Workload.");
    tell_of_pod(object, reply);
    reply.change.push_back("Ask about that one: muster explain workload/" + workload_of_pod(object) + " -n " + ns +
                           ".");
    return reply;
  }
  if (is_queued_set(kind, object)) {
    tell_of_set(kind, object, reply);
    return reply;
  }
  reply.say("KindNotQueued", unqueued_sentence(kind.kind));
  if (!why_not.empty()) reply.notes.push_back("The object could not be read: " + why_not + ".");
  if (const auto owner = object.is_object() ? controller_of(object) : std::nullopt) {
    reply.because.push_back(reply.subject() + " is part of " + owner->kind.text() + " " + ns + "/" + owner->name +
                            ", which made it.");
    reply.change.push_back("Ask about that one: what queues it decides when its parts run.");
  } else if (object.is_object() && !asks_for_queue(object)) {
    reply.because.push_back(reply.subject() + " does not ask for a queue either.");
  }
  return reply;
}

ExplainReply ask_about_unqueued(kube::KubeApi& api, const UnqueuedKind& kind, const std::string& ns,
                                const std::string& name) {
  const kube::Resource resource{std::string(kind.group), std::string(kind.version), std::string(kind.resource), true,
                                std::string(kind.kind)};
  const auto object = api.get(resource, ns, name);
  if (object) return explain_unqueued(kind, ns, name, *object, "");
  ExplainReply reply = explain_unqueued(kind, ns, name, json(), object.error().message);
  reply.found = object.error().code != 404;
  return reply;
}

}  // namespace muster::commands
