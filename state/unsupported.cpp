#include "state/unsupported.h"

#include <algorithm>

#include "api/cluster_queue.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/workload.h"
#include "base/overloaded.h"
#include "jobs/job_kind.h"

namespace muster::state {
namespace {

using Found = std::vector<Unsupported>;

std::string kind_of(const OwnerReference& owner) {
  return std::string(owner.kind) + " (" + std::string(owner.api_version) + ")";
}

Found in_workload(const Workload& workload, const QueueSettings& settings) {
  if (workload.finished() || can_be_stopped(workload, settings)) return {};
  return {{"owner", "The owner is a " + kind_of(*workload.meta.controller) +
                        ", which muster does not run: it cannot stop its pods. Quota that the Workload holds counts, "
                        "and no other Workload preempts it; without quota it is not admitted."}};
}

Found in_queue(const ClusterQueue& queue) {
  Found found;
  for (const std::string& field : queue.unsupported)
    found.push_back({field.substr(field.rfind('.') + 1), field + " is not supported by muster and has no effect."});
  return found;
}

Found in_local_queue(const LocalQueue& queue) {
  if (!queue.has_share) return {};
  return {{"fairSharing",
           "spec.fairSharing is not supported by muster and has no effect: Workloads queue by priority "
           "and age."}};
}

Found in_flavor(const ResourceFlavor& flavor) {
  if (flavor.topology.empty()) return {};
  return {{"topologyName", "spec.topologyName (" + flavor.topology +
                               ") is not supported by muster: Workloads that ask for a place in a topology do not get "
                               "this flavor, and the pods of others are placed anywhere on its nodes."}};
}

Found in_check(const AdmissionCheck& check) {
  if (!check.has_no_controller()) return {};
  return {{"controllerName", "spec.controllerName " + check.controller +
                                 " is a controller of Kueue that muster does not have: the check is inactive with any "
                                 "status, and ClusterQueues that name it admit nothing."}};
}

Found in_managed_job(const ObjectMeta& meta, std::string_view manager) {
  if (manager != kMultiKueueControllerName || meta.label(kQueueNameLabel).empty()) return {};
  return {{"managedBy", "spec.managedBy is " + std::string(manager) +
                            ": muster does not send jobs to other clusters, and no controller runs this job in this "
                            "cluster. Create it again without that field."}};
}

// "spec.failurePolicy.restartStrategy: InPlaceRestart" -> "restartStrategy".
std::string feature_of(std::string_view entry) {
  const std::string_view field = entry.substr(0, entry.find(':'));
  return std::string(field.substr(field.rfind('.') + 1));
}

Found in_jobset(const JobSet& jobset, const ReconcilerSettings& settings) {
  Found found = in_managed_job(jobset.meta, jobset.managed_by);
  if (!settings.queues.rules.runs_jobsets() || jobset.finished() || !jobs::jobset.is_managed_by(jobset.managed_by))
    return found;
  if (is_outside_webhooks(jobset.meta.ns, settings))
    found.push_back({"namespace", "JobSets in namespace " + jobset.meta.ns +
                                      " pass no webhook of muster, so muster does not run them. Create the JobSet in "
                                      "another namespace."});
  for (const std::string& entry : jobset.unsupported) {
    const std::string what = feature_of(entry);
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const Unsupported& one) { return one.what == what; });
    if (known) continue;
    found.push_back({what, entry + " is not supported where muster runs JobSets: no Job of this JobSet is created, "
                                   "resumed or restarted. Create it again without, or run JobSet's own controller."});
  }
  return found;
}

}  // namespace

bool can_be_stopped(const Workload& workload, const QueueSettings& settings) {
  const auto& owner = workload.meta.controller;
  if (!owner) return true;
  const jobs::JobKind* kind = jobs::find_owner_kind(*owner, settings.rules);
  if (kind != nullptr) return kind->is_enabled(settings.rules);
  return settings.rules.is_external(owner->api_version, owner->kind);
}

std::string why_never_admitted(const Workload& workload, const QueueSettings& settings) {
  if (can_be_stopped(workload, settings)) return "";
  return "the owner is a " + kind_of(*workload.meta.controller) +
         ", which muster does not run; if its controller obeys the conditions of Workloads, an administrator can name "
         "the kind in integrations.externalFrameworks";
}

bool is_outside_webhooks(std::string_view ns, const ReconcilerSettings& settings) {
  return ns == "kube-system" || (!settings.own_namespace.empty() && ns == settings.own_namespace);
}

Found unsupported_in(const TypedObject& object, const ReconcilerSettings& settings) {
  return std::visit(Overloaded{
                        [&](const WorkloadPtr& workload) { return in_workload(*workload, settings.queues); },
                        [](const ClusterQueuePtr& queue) { return in_queue(*queue); },
                        [](const LocalQueuePtr& queue) { return in_local_queue(*queue); },
                        [](const ResourceFlavorPtr& flavor) { return in_flavor(*flavor); },
                        [](const AdmissionCheckPtr& check) { return in_check(*check); },
                        [](const JobPtr& job) { return in_managed_job(job->meta, job->managed_by); },
                        [&](const JobSetPtr& set) { return in_jobset(*set, settings); },
                        [](const auto&) { return Found{}; },
                    },
                    object);
}

}  // namespace muster::state
