// Exclusive placement: the pods of a Job have one domain to themselves. JobSet finds the first pod of a Job by its
// completion index, so the Job must be Indexed; and the strategy with node selectors counts only beside the topology,
// on the JobSet or on the template. Rejected, for example:
//
//   metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
//   replicatedJobs: [{name: w, template: {spec: {completionMode: NonIndexed, ...}}}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_exclusive_placement {
namespace {

using nlohmann::json;

struct Scope {
  explicit Scope(const json& object)
      : topology(annotation(object, kExclusiveTopologyAnnotation).has_value()),
        node_selectors(annotation(object, kNodeSelectorStrategyAnnotation).has_value()) {}

  bool topology;
  bool node_selectors;
};

std::string strategy_alone(std::string_view other) {
  return "this strategy counts only beside " + std::string(kExclusiveTopologyAnnotation) +
         ", which is in the metadata of " + std::string(other) + "; set both in one place";
}

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  FieldErrors errors;
  if (jobs::is_managed_elsewhere(jobset)) return errors;
  const Scope whole(jobset);
  const json& replicated_jobs = jobs::replicated_jobs_of(jobset);
  for (size_t i = 0; i < replicated_jobs.size(); ++i) {
    const json& job_template = object_at(replicated_jobs[i], {"template"});
    const Scope part(job_template);
    if (!whole.topology && !part.topology) continue;
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i).child("template");
    if (whole.node_selectors && !whole.topology)
      errors.push_back(forbidden(FieldPath("metadata.annotations").key(kNodeSelectorStrategyAnnotation),
                                 strategy_alone("a template")));
    if (part.node_selectors && !part.topology)
      errors.push_back(forbidden(path.child("metadata.annotations").key(kNodeSelectorStrategyAnnotation),
                                 strategy_alone("the JobSet")));
    const bool by_node_selectors = (whole.topology && whole.node_selectors) || (part.topology && part.node_selectors);
    const std::string_view mode = string_at(job_template, {"spec", "completionMode"});
    if (mode != "NonIndexed" || by_node_selectors) continue;
    errors.push_back(invalid(
        path.child("spec").child("completionMode"), mode,
        "a Job that is placed exclusively (" + std::string(kExclusiveTopologyAnnotation) + ") must be Indexed"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_exclusive_placement",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_exclusive_placement
