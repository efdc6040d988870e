// A Workload that holds quota cannot get a controller (metadata.ownerReferences) of a kind that muster does not
// run. An ownerReference is only text, and muster does not preempt a Workload whose pods it cannot stop: with
// such an ownerReference a user could keep the quota permanently. Rejected, for example:
//
//   ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: mine, controller: true}]
//
// Removing a controller is allowed: garbage collection does so. An external controller that adopts such
// Workloads is named in `admitters`. The rule is off without admitters: a person runs muster.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"
#include "validators/workload/sent_by_muster.h"

namespace muster::validators::workload_owner_kept {
namespace {

bool is_run_here(const RuleSettings& settings, const OwnerReference& owner) {
  const jobs::JobKind* kind = jobs::find_owner_kind(owner, settings);
  return kind != nullptr && kind->is_enabled(settings);
}

FieldErrors check(const Review& review) {
  if (is_sent_by_muster(review)) return {};
  const auto after = controller_of(review.request.object);
  if (!after || is_run_here(review.settings, *after) || !jobs::has_quota_reservation(review.request.old_object))
    return {};
  const auto before = controller_of(review.request.old_object);
  if (before && before->uid == after->uid && before->kind == after->kind && before->api_version == after->api_version)
    return {};
  return {forbidden("metadata.ownerReferences", "this Workload holds quota, and muster does not run a " +
                                                    std::string(after->kind) + " (" + std::string(after->api_version) +
                                                    "), so muster could not preempt the Workload; user \"" +
                                                    review.request.user.username + "\" cannot make it the controller")};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_owner_kept",
    .matches = {{"kueue.x-k8s.io", "workloads"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::workload_owner_kept
