// The waiter is the last init container: a container after it would run, and pull its image, after the group
// has started, so that the pods would not start together. The mutator puts it last; another webhook can have
// added a container after it. A stored object with this order can still change in other fields.
//
// A gang without its barrier is allowed, with a warning: it runs like a job that is not a gang.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/gang/new_gang.h"

namespace muster::validators::group_scheduling_position {
namespace {

using nlohmann::json;

FieldErrors misplaced_waiters(const jobs::JobKind& kind, const json& object) {
  FieldErrors errors;
  for (const jobs::ConstPodTemplateRef& ref : kind.read_pod_templates(object)) {
    const json& init_containers = array_at(*ref.template_json, {"spec", "initContainers"});
    const std::optional<size_t> at = jobs::find_waiter(*ref.template_json);
    if (!at || *at + 1 == init_containers.size()) continue;
    const std::string_view next = string_at(init_containers[*at + 1], {"name"});
    errors.push_back(
        invalid(ref.path.child("spec").child("initContainers").index(*at).child("name"), json(kGroupInitContainer),
                "must be the last init container, but " + std::string(next) +
                    " stands behind it and would run only after the group has started; put " + std::string(next) +
                    " before it, or exempt muster's Jobs from the webhook that added it"));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return {};
  return new_errors(review, [kind](const json& object) { return misplaced_waiters(*kind, object); });
}

std::vector<std::string> warn(const Review& review) {
  const std::optional<NewGang> gang = new_gang(review);
  if (!gang) return {};
  std::vector<std::string> warnings;
  for (const jobs::ConstPodTemplateRef& ref : gang->targets) {
    if (jobs::find_waiter(*ref.template_json) && jobs::find_barrier_volume(*ref.template_json)) continue;
    warnings.push_back(ref.path.text() +
                       " has no start barrier, so its pods will not wait for their group: check that muster's "
                       "MutatingWebhookConfiguration is in place");
  }
  return warnings;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_position",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_position
