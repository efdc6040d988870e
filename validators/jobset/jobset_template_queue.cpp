// The Jobs of a JobSet are queued as a whole, by the name of the queue on the JobSet. A Job of a JobSet without a queue
// that names a queue itself would be started by the JobSet controller and stopped by the queue, in turns. Rejected, for
// example, is in a JobSet without the label
//
//   replicatedJobs: [{name: w, template: {metadata: {labels: {kueue.x-k8s.io/queue-name: main}}}}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::jobset_template_queue {
namespace {

using nlohmann::json;

FieldErrors queues_in(const json& jobset) {
  FieldErrors errors;
  if (!jobs::queue_name_of(jobset).empty()) return errors;
  const json& replicated_jobs = jobs::replicated_jobs_of(jobset);
  for (size_t i = 0; i < replicated_jobs.size(); ++i) {
    const json& pod_template = object_at(replicated_jobs[i], {"template"});
    if (jobs::queue_name_of(pod_template).empty()) continue;
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i).child("template").child("metadata");
    errors.push_back(forbidden(path.child("labels").key(kQueueNameLabel),
                               "a JobSet is queued with all of its Jobs; set this label in metadata.labels of the "
                               "JobSet, and remove it here"));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const bool queued = jobs::enabled_kind(review) != nullptr && jobs::is_queued_by_itself(review, review.request.object);
  if (queued || jobs::is_managed_elsewhere(review.request.object)) return {};
  return new_errors(review, queues_in);
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_template_queue",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::jobset_template_queue
