// A running pod of what is queued cannot be resized to more than it requests: quota counts what its template requests.
// Whether a job's pod is queued is a question about its owners, since such pods have no label of muster. Rejected, for
// example, of a pod that Job "train" of a queue controls:
//
//   kubectl patch pod train-x7k2p --subresource resize
//     -p '{spec: {containers: [{name: c, resources: {requests: {cpu: 60}}}]}}'
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/pod_requests.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::pod_resize {
namespace {

using nlohmann::json;

ResourceList requests_of(const json& pod) {
  return pod_requests(adjusted_resources(PodSpec(object_at(pod, {"spec"})), {}));
}

// "cpu from 100m to 60"; empty: nothing grows that quota counts.
std::string growth(const Review& review) {
  const ResourceList before = requests_of(review.request.old_object);
  std::string grown;
  for (const auto& [name, amount] : requests_of(review.request.object)) {
    const auto found = before.find(name);
    const Quantity old = found == before.end() ? Quantity() : found->second;
    if (amount <= old || review.settings.uncounted_resources.contains(name)) continue;
    grown += (grown.empty() ? "" : ", ") + name + " from " + old.text() + " to " + amount.text();
  }
  return grown;
}

// The executors of a Spark application belong to its driver, a pod that muster does not know.
bool is_of_a_pod(const json& pod) {
  const auto controller = controller_of(pod);
  return controller && group_of(controller->api_version).empty() && controller->kind == kPods.kind;
}

// The owner that is in a queue. Without a queue name, only in the namespaces that are managed.
jobs::MaybeAncestor queued_owner(const Review& review) {
  RuleSettings by_name = review.settings;
  by_name.manage_jobs_without_queue_name = false;
  jobs::MaybeAncestor named = jobs::managed_ancestor({review.request, review.view, by_name}, review.request.old_object);
  if (!named.ok() || *named || !review.settings.manage_jobs_without_queue_name) return named;
  const auto managed = jobs::in_managed_namespace(review);
  if (!managed.ok()) return fail_with(managed.error());
  return *managed ? jobs::managed_ancestor(review, review.request.old_object) : named;
}

// Whose quota the pod runs with, for messages; empty: none.
std::string whose_quota(const Review& review) {
  const json& pod = review.request.old_object;
  const bool labelled = label(pod, kManagedLabel) == kManagedLabelValue || !jobs::queue_name_of(pod).empty();
  if (labelled && jobs::enabled_kind(review) == &jobs::plain_pod) return "the pod is in a queue";
  if (is_of_a_pod(pod) && review.settings.frameworks.contains("sparkoperator.k8s.io/sparkapplication"))
    return "the pod belongs to another pod, which may be in a queue";
  const jobs::MaybeAncestor owner = queued_owner(review);
  if (!owner.ok()) return "muster cannot tell whether the pod is in a queue (" + owner.error().message + ")";
  return *owner ? "the pod belongs to " + jobs::text_of(**owner) + ", which is in a queue" : "";
}

FieldErrors check(const Review& review) {
  const std::string grown = growth(review);
  if (grown.empty()) return {};
  const std::string whose = whose_quota(review);
  if (whose.empty()) return {};
  return {forbidden(FieldPath("spec"), whose + ", and cannot grow while it runs: " + grown +
                                           "; create it again with larger requests, so that quota counts them")};
}

}  // namespace

extern const Validator rule = {
    .name = "pod_resize",
    .matches = {{"", "pods/resize"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::pod_resize
