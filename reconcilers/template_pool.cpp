#include "reconcilers/template_pool.h"

namespace muster {

void TemplatePool::intern(const Job& job) {
  if (job.pod_template.spec != nullptr) job.pod_template.spec = pod_specs_.share(job.pod_template.spec);
}

void TemplatePool::intern(const JobSet& jobset) {
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    replicated.template_text = texts_.share(replicated.template_text);
    replicated.pod_template.spec = pod_specs_.share(replicated.pod_template.spec);
  }
}

void TemplatePool::intern(const Workload& workload) {
  for (const PodSet& pod_set : workload.pod_sets)
    pod_set.pod_template.spec = pod_specs_.share(pod_set.pod_template.spec);
}

}  // namespace muster
