#include "commands/explain/explain_unqueued.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "api/pods/pod_reason.h"
#include "base/ascii.h"
#include "kinds/unqueued_kinds.h"

namespace muster::commands {

using nlohmann::json;

namespace {

constexpr size_t kMostParts = 5;

bool is_cron_job(const jobs::NamedKind& kind) {
  return kind.type->kind == "CronJob";
}

// The kind of what such an object makes; nullptr: it makes nothing that is queued.
const ResourceType* kind_of_parts(const jobs::NamedKind& kind) {
  if (is_cron_job(kind)) return &kJobs;
  return kind.known == jobs::NamedKind::Known::kNone ? &kPods : nullptr;
}

const json& metadata_of_template(const jobs::NamedKind& kind, const json& object) {
  return is_cron_job(kind) ? object_at(object, {"spec", "jobTemplate", "metadata"})
                           : object_at(object, {"spec", "template", "metadata"});
}

// What it makes asks for a queue.
bool makes_queued_parts(const jobs::NamedKind& kind, const json& object) {
  const json& metadata = metadata_of_template(kind, object);
  return !string_at(metadata, {"labels", kQueueNameLabel}).empty() ||
         !string_at(metadata, {"annotations", kSuspendingParent}).empty();
}

bool is_gated(const json& pod) {
  for (const json& gate : array_at(pod, {"spec", "schedulingGates"})) {
    if (string_at(gate, {"name"}) == kAdmissionGate) return true;
  }
  return false;
}

std::string state_of_part(const ResourceType& type, const json& part) {
  if (&type == &kPods) {
    if (is_gated(part)) return "waits for its admission";
    const std::string_view phase = string_at(part, {"status", "phase"});
    return phase.empty() ? "new" : std::string(phase);
  }
  for (const json& condition : array_at(part, {"status", "conditions"})) {
    const std::string_view end = string_at(condition, {"type"});
    if (string_at(condition, {"status"}) == "True" && (end == "Complete" || end == "Failed")) return std::string(end);
  }
  return bool_at(part, {"spec", "suspend"}) ? "suspended" : "started";
}

// The newest first.
std::vector<const json*> newest(const json& parts) {
  std::vector<const json*> sorted;
  for (const json& part : parts) sorted.push_back(&part);
  const auto born = [](const json* part) { return string_at(*part, {"metadata", "creationTimestamp"}); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const json* a, const json* b) { return born(a) > born(b); });
  return sorted;
}

void name_parts(const ResourceType& type, const json& parts, ExplainReply& reply) {
  const std::string word = in_small_letters(type.kind);
  const std::vector<const json*> sorted = newest(parts);
  for (size_t i = 0; i < std::min(sorted.size(), kMostParts); ++i)
    reply.because.push_back(word + "/" + std::string(string_at(*sorted[i], {"metadata", "name"})) + ": " +
                            state_of_part(type, *sorted[i]) + ".");
  if (sorted.size() > kMostParts)
    reply.because.push_back("And " + std::to_string(sorted.size() - kMostParts) + " older ones.");
  if (!sorted.empty())
    reply.change.push_back("Ask about one of them: kubectl muster explain " + word + "/" +
                           std::string(string_at(*sorted[0], {"metadata", "name"})) + " -n " + reply.ns);
}

void explain_maker(const jobs::NamedKind& kind, const json& object, const json& parts, ExplainReply& reply) {
  const ResourceType& type = *kind_of_parts(kind);
  const std::string plural = &type == &kPods ? "pods" : "Jobs";
  if (makes_queued_parts(kind, object)) {
    reply.say(&type == &kPods ? ExplainReason::kQueuedAsPods : ExplainReason::kQueuedAsJobs,
              reply.subject() + (&type == &kPods ? " is queued pod by pod: each has a Workload."
                                                 : " is queued by its Jobs: each that it makes has a Workload."));
  } else {
    reply.say(ExplainReason::kNoQueueName, reply.subject() + " is in no queue: the " + plural +
                                               " that it makes have no label " + std::string(kQueueNameLabel) + ".");
    const std::string field = is_cron_job(kind)               ? "spec.jobTemplate.metadata.labels"
                              : kind.job == &jobs::deployment ? "metadata.labels of the Deployment"
                                                              : "spec.template.metadata.labels";
    reply.change.push_back("To queue them, set the label in " + field + ".");
  }
  if (is_cron_job(kind) && bool_at(object, {"spec", "suspend"}))
    reply.because.push_back("It is suspended (spec.suspend), and makes no Jobs.");
  // What could not be listed can be there; a note says that.
  if (parts.empty() && reply.notes.empty()) reply.because.push_back("It has no " + plural + " now.");
  name_parts(type, parts, reply);
}

// An object that does not make what is queued, as a pod of a Job.
void explain_part(const json& object, ExplainReply& reply) {
  const auto owner = controller_of(object);
  if (!owner) {
    reply.say(ExplainReason::kNotInQueue, reply.subject() + " is in no queue: muster has nothing to do with it.");
    return;
  }
  const std::string whole = in_small_letters(owner->kind.text()) + "/" + owner->name;
  reply.say(ExplainReason::kPartOfAnother, reply.subject() + " is not queued by itself: it is part of " +
                                               owner->kind.text() + " " + reply.ns + "/" + owner->name + ".");
  reply.change.push_back(jobs::find_named_kind(owner->kind.text())
                             ? "Ask about that one: kubectl muster explain " + whole + " -n " + reply.ns
                             : std::string("Ask about that one: what queues it decides when its parts run."));
}

std::string selector_of(const json& object) {
  std::string selector;
  for (const auto& [key, value] : object_at(object, {"spec", "selector", "matchLabels"}).items()) {
    if (value.is_string()) selector += (selector.empty() ? "" : ",") + key + "=" + value.get<std::string>();
  }
  return selector;
}

// The controller of a Deployment's pod is a ReplicaSet, which has its name in front.
bool is_part_of(const jobs::NamedKind& kind, const json& object, const json& part) {
  const auto owner = controller_of(part);
  if (!owner) return false;
  if (kind.job == &jobs::deployment)
    return owner->kind == "ReplicaSet" &&
           owner->name.starts_with(std::string(string_at(object, {"metadata", "name"})) + "-");
  return owner->uid == string_at(object, {"metadata", "uid"});
}

}  // namespace

ExplainReply explain_unqueued(const jobs::NamedKind& kind, const std::string& ns, const std::string& name,
                              const json& object, const json& parts, const std::string& why_not) {
  ExplainReply reply;
  reply.kind = kind.type->kind;
  reply.ns = ns;
  reply.name = name;
  if (!why_not.empty()) reply.notes.push_back("Not all could be read: " + why_not + ".");
  if (!object.is_object()) {
    reply.say(ExplainReason::kUnknown, reply.subject() + " could not be read.");
    return reply;
  }
  const bool makes_pods = kind_of_parts(kind) != nullptr;
  // DaemonSets and similar kinds: no integration queues what they make, unless its template says so.
  if (makes_pods && (kind.job != nullptr || is_cron_job(kind) || makes_queued_parts(kind, object))) {
    explain_maker(kind, object, parts, reply);
  } else if (makes_pods && !controller_of(object)) {
    reply.say(ExplainReason::kKindNotQueued, unqueued_sentence(kind.type->kind));
    name_parts(kPods, parts, reply);
  } else {
    explain_part(object, reply);
    const auto late =
        kind.type == &kPods ? why_pods_are_late({.owner = {.all = true}}, {see_pod(object)}, {}) : std::nullopt;
    if (late) reply.because.push_back(sentence_of(*late) + ".");
  }
  return reply;
}

ExplainReply ask_about_unqueued(kube::KubeApi& api, const jobs::NamedKind& kind, const std::string& ns,
                                const std::string& name) {
  const auto object = api.get(kube::resource_of(*kind.type), ns, name);
  if (!object) {
    const kube::StatusError& error = object.error();
    ExplainReply reply = explain_unqueued(kind, ns, name, json(), json::array(), error.message);
    reply.found = error.code != 404;
    if (!reply.found) {
      reply.notes.clear();
      reply.say(ExplainReason::kNotFound, "There is no " + reply.subject() + ".");
    }
    return reply;
  }
  json parts = json::array();
  std::string why_not;
  if (const ResourceType* type = kind_of_parts(kind)) {
    const kube::ListHandler handler{.started = [&] { parts = json::array(); },
                                    .item =
                                        [&](json& item) {
                                          if (is_part_of(kind, *object, item)) parts.push_back(std::move(item));
                                        }};
    const std::string selector = type == &kPods ? selector_of(*object) : "";
    const auto listed = api.list(kube::resource_of(*type), {.ns = ns, .label_selector = selector}, handler);
    if (!listed) why_not = listed.error().message;
  }
  return explain_unqueued(kind, ns, name, *object, parts, why_not);
}

}  // namespace muster::commands
