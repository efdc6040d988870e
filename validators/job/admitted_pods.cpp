// A job that runs with quota cannot request more than its quota: this applies to a queued job while it runs,
// and always to a Job of a queued JobSet, whose quota is the quota of the JobSet. Rejected, for example, is an
// UPDATE by a user of a running Job in a LocalQueue from
//
//   spec: {parallelism: 1}    to    spec: {parallelism: 50}
//
// A Job that is suspended in the same request can grow: it is queued again. So must an elastic one: muster has no
// Workload for the new pods alone.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::admitted_pods {
namespace {

using nlohmann::json;

// The parts of a pod template that decide about the pods' requests.
json requests_of(const json& pod_template) {
  const json& spec = object_at(pod_template, {"spec"});
  json asked = {{"pod", object_at(spec, {"resources"})}, {"overhead", object_at(spec, {"overhead"})}};
  for (const char* list : {"initContainers", "containers"}) {
    json& containers = asked[list] = json::array();
    for (const json& container : array_at(spec, {list}))
      containers.push_back({object_at(container, {"resources"}), string_at(container, {"restartPolicy"})});
  }
  return asked;
}

// "spec.parallelism" of "spec.template".
FieldPath parallelism_beside(const FieldPath& pod_template) {
  return FieldPath(pod_template.text().substr(0, pod_template.text().rfind('.'))).child("parallelism");
}

struct Growth {
  std::string state;
  bool part = false;  // of a queued job
};

// nullopt: the pods are counted again before they run, or no quota counts them.
std::optional<Growth> runs_with_quota(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  // Each additional pod is a Workload, or a part of one, that waits for its own quota.
  if (!kind || kind->is_serving() || jobs::is_admitter(review)) return std::nullopt;
  const json &before = review.request.old_object, &after = review.request.object;
  const std::string self = "this " + review.request.kind;
  const jobs::MaybeAncestor ancestor = jobs::managed_ancestor(review, before);
  if (ancestor.ok() && *ancestor)
    return Growth{self + " is part of " + jobs::text_of(**ancestor) + ", which is queued", true};
  if (kind->suspended(before) || kind->suspended(after) || !jobs::is_queued_by_itself(review, before))
    return std::nullopt;
  return Growth{self + " is queued and runs with the quota for the pods that it had", false};
}

// Its own controller can replace running pods by new pods.
bool is_described(const jobs::JobKind& kind) {
  return &kind != &jobs::batch_job && &kind != &jobs::jobset;
}

FieldErrors growth_in(const Review& review) {
  const auto growth = runs_with_quota(review);
  if (!growth) return {};
  const jobs::JobKind& kind = *jobs::enabled_kind(review);
  const std::string way_out = growth->part ? "; leave it as its controller made it"
                                           : "; set " + kind.suspend_path().text() + " to " +
                                                 (kind.suspended_when() ? "true" : "false") +
                                                 " in the same request to requeue it";
  const std::string_view ns = jobs::namespace_of(review.request);
  const auto before = kind.read_pod_templates(review.request.old_object, ns, review.view);
  const auto after_all = kind.read_pod_templates(review.request.object, ns, review.view);
  if (!before || !after_all) return {};
  FieldErrors errors;
  for (const jobs::ConstPodTemplateRef& after : *after_all) {
    const auto old =
        std::find_if(before->begin(), before->end(), [&](const auto& each) { return each.name == after.name; });
    if (old == before->end() && !is_described(kind)) continue;
    const int64_t old_count = old == before->end() ? 0 : old->count;
    if (after.count > old_count) {
      const bool beside = after.count_path.text().empty();
      errors.push_back(forbidden(beside ? parallelism_beside(after.path) : after.count_path,
                                 growth->state + ": " + std::to_string(old_count) + " pods cannot become " +
                                     std::to_string(after.count) + way_out));
    }
    if (old == before->end()) continue;
    if ((growth->part || is_described(kind)) && requests_of(*old->template_json) != requests_of(*after.template_json)) {
      errors.push_back(
          forbidden(after.path.child("spec"), growth->state + ": what its pods request cannot change" + way_out));
    }
  }
  return errors;
}

FieldErrors check(const Review& review) {
  return if_enforced(review, growth_in);
}

std::vector<std::string> warn(const Review& review) {
  return if_observed(review, growth_in);
}

}  // namespace

extern const Validator rule = {
    .name = "admitted_pods",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::admitted_pods
