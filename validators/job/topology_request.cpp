#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "jobs/topology.h"
#include "validators/validator.h"

namespace muster::validators::topology_request {
namespace {

// The pods of an elastic Job come and go, so no level of a topology is kept for all of them. One error, as in Kueue.
FieldErrors check_elastic_level(const jobs::ConstPodTemplateRef& pod_template) {
  struct Row {
    std::string_view annotation;
    const char* text;
  };
  constexpr Row kRows[] = {{jobs::kRequiredTopology, "required topology is not supported with elastic jobs"},
                           {jobs::kPreferredTopology, "preferred topology is not supported with elastic jobs"}};
  for (const Row& row : kRows) {
    if (annotation(*pod_template.template_json, row.annotation))
      return {forbidden(jobs::annotations_path(pod_template).child(row.annotation), row.text)};
  }
  return {};
}

// The size of a slice is compared with the pod set where the request is right
// otherwise; of a JobSet's pod sets always. A pod does not say how many pods its pod set has.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (!kind || !review.settings.enabled(Gate::kTopologyAwareScheduling) || !kind->checks_topology_requests()) return {};
  const auto templates =
      kind->read_pod_templates(review.request.object, jobs::namespace_of(review.request), review.view);
  if (!templates) {
    // Outside of the queues only its own controller checks it.
    if (!jobs::is_queued_by_itself(review, review.request.object)) return {};
    return {{"spec", FieldErrorType::kInvalid, "", "its pods cannot be counted: " + templates.error().message}};
  }
  FieldErrors errors;
  for (const jobs::ConstPodTemplateRef& pod_template : *templates) {
    FieldErrors found = jobs::check_topology_annotations(review.settings, pod_template);
    if (kind == &jobs::batch_job && found.empty() && jobs::is_elastic(review.settings, review.request.object))
      found = check_elastic_level(pod_template);
    if (kind != &jobs::plain_pod && (found.empty() || kind != &jobs::batch_job))
      append(found, jobs::check_slice_bounds(pod_template));
    for (FieldError& error : found) error.detail += kind->where_templates_come_from();
    append(errors, std::move(found));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "topology_request",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::topology_request
