#include "jobs/management.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/constants.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

constexpr size_t kMaxOwners = 10;
constexpr std::string_view kNamespaceNameLabel = "kubernetes.io/metadata.name";

bool is_enabled(const RuleSettings& settings, const JobKind* kind) {
  return kind != nullptr && kind->is_enabled(settings);
}

std::string not_found(const JobKind& kind, std::string_view name) {
  return std::string(kind.type.plural) + "." + std::string(kind.type.group) + " \"" + std::string(name) +
         "\" not found";
}

// Kueue's webhooks of Ray and Spark validate an update only of what is queued, or with the gate also of what was.
bool is_unchecked_update(const Review& review, const JobKind& kind) {
  if (review.request.operation != Operation::kUpdate || !kind.has_gated_updates()) return false;
  if (is_queued_by_itself(review, review.request.object)) return false;
  return !review.settings.enabled(Gate::kValidateRayAndSparkJobUpdates) ||
         !is_queued_by_itself(review, review.request.old_object);
}

}  // namespace

const JobKind* enabled_kind(const Review& review) {
  const JobKind* kind = find_job_kind(review.request.group, review.request.kind);
  return is_enabled(review.settings, kind) ? kind : nullptr;
}

bool gets_defaults(const Review& review) {
  const JobKind* kind = enabled_kind(review);
  if (kind == nullptr) return false;
  return review.request.operation == Operation::kCreate ||
         (kind->is_serving() && string_at(review.request.object, {"metadata", "deletionTimestamp"}).empty());
}

const JobKind* checked_kind(const Review& review) {
  const JobKind* kind = enabled_kind(review);
  return kind == nullptr || is_unchecked_update(review, *kind) ? nullptr : kind;
}

const JobKind* kind_of_checked_forms(const Review& review) {
  const JobKind* kind = checked_kind(review);
  const bool is_update = review.request.operation == Operation::kUpdate;
  return kind != nullptr && is_update && !kind->forms_are_checked_on_update() ? nullptr : kind;
}

std::string_view namespace_of(const AdmissionRequest& request) {
  if (!request.namespace_.empty()) return request.namespace_;
  return string_at(request.object, {"metadata", "namespace"});
}

std::string_view queue_name_of(const json& object) {
  return label(object, kQueueNameLabel).value_or("");
}

bool is_elastic(const RuleSettings& settings, const json& object) {
  return annotation(object, kElasticJobAnnotation) == "true" && settings.enabled(Gate::kElasticJobsViaWorkloadSlices);
}

Result<bool, Undecided> in_managed_namespace(const Review& review) {
  const std::string_view name = namespace_of(review.request);
  return in_managed_namespace(review.settings, name, review.view.namespace_labels(name));
}

Result<bool, Undecided> in_managed_namespace(const RuleSettings& settings, std::string_view name,
                                             const Labels* labels) {
  const LabelSelector& selector = settings.managed_jobs_namespace_selector;
  if (labels != nullptr) return selector.matches(*labels);

  const auto& requirements = selector.requirements();
  const bool name_is_enough = std::all_of(requirements.begin(), requirements.end(), [](const auto& requirement) {
    return requirement.key == kNamespaceNameLabel;
  });
  if (name_is_enough) return selector.matches(Labels{{std::string(kNamespaceNameLabel), std::string(name)}});
  return fail_with(Undecided{"namespace \"" + std::string(name) +
                                 "\" is not known to muster yet, and managedJobsNamespaceSelector asks for its labels; "
                                 "try again in a moment",
                             true});
}

bool has_enabled_controller(const RuleSettings& settings, const json& object) {
  const auto owner = controller_of(object);
  return owner && is_enabled(settings, find_owner_kind(*owner, settings));
}

MaybeAncestor managed_ancestor(const Review& review, const json& object) {
  const std::string_view ns = namespace_of(review.request);
  const OwnerLookup lookup = [&](const OwnerReference& owner) -> std::optional<OwnerFacts> {
    const OwnerFacts* facts = review.view.owner(group_of(owner.api_version), owner.kind, ns, owner.name);
    if (facts != nullptr) return *facts;
    if (!review.settings.is_external(owner.api_version, owner.kind) || !review.view.is_admitted(ns, owner))
      return std::nullopt;
    return OwnerFacts{.uid = owner.uid, .queue_name = {}, .controller = {}, .has_workload = true};
  };
  return managed_ancestor(review.settings, lookup,
                          {review.request.group, review.request.kind,
                           std::string(string_at(object, {"metadata", "uid"})), controller_of(object)});
}

MaybeAncestor managed_ancestor(const RuleSettings& settings, const OwnerLookup& lookup, MaybeOwned object) {
  std::vector<std::string> seen = {std::move(object.uid)};
  std::optional<ManagedAncestor> managed;
  std::optional<OwnerReference> owner = std::move(object.controller);
  // Every kind makes pods.
  bool is_made = object.group == plain_pod.type.group && object.kind == plain_pod.type.kind;
  std::string group(object.group), name(object.kind);
  while (owner) {
    const JobKind* kind = find_owner_kind(*owner, settings);
    if (kind != nullptr && !is_made && kind->find_owned(group, name) == nullptr) return managed;
    const std::optional<OwnerFacts> facts = lookup(*owner);
    if (!facts && (!kind || object.owners_are_known)) return managed;
    if (!facts) return fail_with(Undecided{.message = not_found(*kind, owner->name), .absent_owner = true});
    if (facts->uid != owner->uid) return managed;

    if (std::find(seen.begin(), seen.end(), facts->uid) != seen.end()) return fail_with(Undecided{"cyclic ownership"});
    if (seen.size() > kMaxOwners) {
      return fail_with(Undecided{.message = "managed owner chain limit reached: more than " +
                                            std::to_string(kMaxOwners) + " owners above this object",
                                 .too_many_owners = true});
    }
    seen.push_back(facts->uid);
    const bool counts = settings.manage_jobs_without_queue_name || !facts->queue_name.empty() || facts->has_workload;
    const bool external = settings.is_external(owner->api_version, owner->kind);
    if (counts && (external || is_enabled(settings, kind)))
      managed = ManagedAncestor{owner->kind.text(), owner->name, facts->uid, external};
    group = group_of(owner->api_version);
    name = owner->kind.text();
    is_made = false;
    owner = facts->controller;
  }
  return managed;
}

Result<bool, Undecided> is_queued(const Review& review, const json& object) {
  const MaybeAncestor ancestor = managed_ancestor(review, object);
  if (!ancestor.ok()) return fail_with(ancestor.error());
  if (*ancestor) return false;
  if (!queue_name_of(object).empty()) return true;
  return review.settings.manage_jobs_without_queue_name ? in_managed_namespace(review) : Result<bool, Undecided>(false);
}

bool is_queued_by_itself(const Review& review, const json& object) {
  if (!queue_name_of(object).empty()) return true;
  if (!review.settings.manage_jobs_without_queue_name) return false;
  const auto managed = in_managed_namespace(review);
  return !managed.ok() || *managed;
}

bool is_queued_here(const Review& review) {
  if (enabled_kind(review) == nullptr) return false;
  const auto queued = is_queued(review, review.request.object);
  return queued.ok() && *queued;
}

bool is_admitter(const Review& review) {
  return review.settings.admitters.contains(review.request.user.username);
}

std::string text_of(const ManagedAncestor& ancestor) {
  return ancestor.kind + " \"" + ancestor.name + "\"";
}

}  // namespace muster::jobs
