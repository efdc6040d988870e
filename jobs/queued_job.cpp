#include "jobs/queued_job.h"

#include "api/meta/constants.h"
#include "base/whole_number.h"

namespace muster::jobs {

QueuedJob::QueuedJob(const JobKind& kind, const TypedObject& job, const ConsultedLookup& find) : QueuedJob(kind, job) {
  auto consulted = kind.consulted(job, find);
  if (!consulted) return;
  own_ = std::make_shared<const TypedObject>(*std::move(consulted));
  job_ = own_.get();
}

std::string_view QueuedJob::queue_name() const {
  return meta().label(kQueueNameLabel);
}

std::string_view QueuedJob::priority_class() const {
  return meta().label(kPriorityClassLabel);
}

std::optional<int32_t> QueuedJob::maximum_execution_seconds() const {
  const auto seconds = whole_number<int32_t>(meta().label(kMaxExecTimeLabel));
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

bool QueuedJob::elastic(const RuleSettings& settings) const {
  return meta().annotation(kElasticJobAnnotation) == "true" && settings.enabled(Gate::kElasticJobsViaWorkloadSlices);
}

}  // namespace muster::jobs
