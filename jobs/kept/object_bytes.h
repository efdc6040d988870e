// How much memory a watched object takes, as far as that depends on what was written into it. An estimate: the
// allocator and the sharing of short texts are not counted. Pure.
#pragma once

#include <cstddef>
#include <variant>

#include "api/jobset.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "base/overloaded.h"
#include "kinds/described_job.h"
#include "kinds/typed_object.h"

namespace muster::jobs {

// Without what equal objects share.
size_t own_bytes(const TypedObject& object);
// What they can share.
size_t bytes_of(const PodSpec& spec);
size_t bytes_of(const SharedText& text);

// Calls visit(part) for each PodSpec and each long SharedText that the object holds; one can come twice.
template <class Visit>
void for_each_shared_part(const TypedObject& object, Visit visit) {
  const auto visit_template = [&](const PodTemplate& pod_template) {
    if (pod_template.spec != nullptr) visit(*pod_template.spec);
  };
  std::visit(Overloaded{
                 [&](const JobPtr& job) {
                   visit_template(job->pod_template);
                   if (job->requests != nullptr) visit(*job->requests);
                 },
                 [&](const JobSetPtr& jobset) {
                   for (const ReplicatedJob& replicated : jobset->replicated_jobs) {
                     visit_template(replicated.pod_template);
                     visit(replicated.template_text);
                   }
                   for (const VolumeClaim& claim : jobset->volume_claims) visit(claim.text);
                 },
                 [&](const DescribedJobPtr& job) {
                   for (const DescribedPodSet& pod_set : job->pod_sets) visit_template(pod_set.pod_template);
                 },
                 [&](const WorkloadPtr& workload) {
                   for (const PodSet& pod_set : workload->pod_sets) visit_template(pod_set.pod_template);
                 },
                 [&](const QueuedPodPtr& pod) {
                   if (pod->spec != nullptr) visit(*pod->spec);
                 },
                 [](const auto&) {},
             },
             object);
}

// All of it, as if nothing were shared.
size_t bytes_of(const TypedObject& object);

}  // namespace muster::jobs
