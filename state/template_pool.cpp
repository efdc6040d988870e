#include "state/template_pool.h"

#include <algorithm>
#include <functional>
#include <string>

#include "api/job.h"
#include "api/jobset.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "kinds/described_job.h"

namespace muster::state {

void TemplatePool::intern(const Job& job) {
  share(job.pod_template);
  if (job.requests != nullptr) share(job.requests);
}

void TemplatePool::intern(const JobSet& jobset) {
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) share(replicated.pod_template);
}

void TemplatePool::intern(const DescribedJob& job) {
  for (const DescribedPodSet& pod_set : job.pod_sets) share(pod_set.pod_template);
}

void TemplatePool::intern(const Workload& workload) {
  for (const PodSet& pod_set : workload.pod_sets) share(pod_set.pod_template);
}

void TemplatePool::intern(const QueuedPod& pod) {
  share(pod.spec);
}

void TemplatePool::share(const PodTemplate& pod_template) {
  if (pod_template.spec != nullptr) share(pod_template.spec);
}

void TemplatePool::share(PodSpecPtr& spec) {
  std::weak_ptr<const PodSpec>& place = specs_[std::hash<std::string>{}(spec->text)];
  if (const auto known = place.lock()) {
    if (known->text == spec->text) spec = known;
    return;
  }
  place = spec;
  sweep();
}

void TemplatePool::sweep() {
  if (specs_.size() < sweep_at_) return;
  std::erase_if(specs_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<size_t>(64, 2 * specs_.size());
}

}  // namespace muster::state
