#include "reconcilers/template_pool.h"

namespace muster {

JobPtr TemplatePool::intern(const JobPtr& job) {
  if (job->pod_template.spec == nullptr) return job;
  PodSpecPtr known = pod_specs_.share(job->pod_template.spec);
  if (known == job->pod_template.spec) return job;
  auto shared = std::make_shared<Job>(*job);
  shared->pod_template.spec = std::move(known);
  return shared;
}

JobSetPtr TemplatePool::intern(const JobSetPtr& jobset) {
  auto shared = std::make_shared<JobSet>(*jobset);
  for (ReplicatedJob& replicated : shared->replicated_jobs) {
    replicated.template_text = texts_.share(replicated.template_text);
    replicated.pod_template.spec = pod_specs_.share(replicated.pod_template.spec);
  }
  return shared;
}

WorkloadPtr TemplatePool::intern(const WorkloadPtr& workload) {
  auto shared = std::make_shared<Workload>(*workload);
  for (PodSet& pod_set : shared->pod_sets) pod_set.pod_template.spec = pod_specs_.share(pod_set.pod_template.spec);
  return shared;
}

}  // namespace muster
