#include "test/world/invariants/idle_flavors.h"

#include <algorithm>

#include "api/pods/pod_requests.h"
#include "api/workload.h"
#include "kinds/typed_object.h"

namespace muster::world {
namespace {

bool concerns(const ResourceType& type) {
  return type == kWorkloads || type == kClusterQueues || type == kLocalQueues || type == kResourceFlavors ||
         type == kAdmissionChecks;
}

// It does not wait for a time, a person or an end.
bool competes(const Workload& workload, TimePoint now) {
  if (!workload.active || workload.meta.deleting || workload.has_quota_reserved()) return false;
  const Condition* requeued = find_condition(workload.status.conditions, kRequeuedCondition);
  if (requeued != nullptr && !requeued->is_true()) return false;
  const auto& state = workload.status.requeue_state;
  return !state || to_time_point(state->requeue_at) <= now;
}

// Of all its pods at their full number.
Requests requests_of(const Workload& workload) {
  Requests sum;
  for (const PodSet& pod_set : workload.pod_sets) {
    const PodSpec& spec = *pod_set.pod_template.spec;
    add(sum, multiply(to_requests(pod_requests(adjusted_resources(spec, {}))), pod_set.count));
    add(sum, {{"pods", pod_set.count}});
  }
  return sum;
}

bool selects_nodes(const Workload& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(), [](const PodSet& pod_set) {
    const std::string& text = pod_set.pod_template.spec->text;
    return text.find("\"nodeSelector\"") != std::string::npos || text.find("\"affinity\"") != std::string::npos;
  });
}

}  // namespace

void IdleFlavors::see(const Change& change) {
  if (*change.type == kClusterQueues) {
    ClusterQueuePtr queue = read_cluster_queue(*change.after);
    queues_.erase(queue->meta.name);
    if (!change.removed && queue->fallback) queues_.emplace(queue->meta.name, std::move(queue));
  }
  if (*change.type == kWorkloads) {
    WorkloadPtr workload = read_workload(*change.after);
    workloads_.erase(workload->meta.uid);
    if (!change.removed && !workload->finished()) workloads_.emplace(workload->meta.uid, std::move(workload));
  }
  if (queues_.empty()) return idle_since_.clear();
  if (concerns(*change.type)) review();
  for (auto& [uid, since] : idle_since_) {
    if (timeline_.elapsed() - since <= kPatience) continue;
    const Workload& workload = *workloads_.at(uid);
    violated_("Workload " + workload.meta.name + " is pending for " + format_duration(kPatience) +
              " although it could have " + could_get(workload));
    since = timeline_.elapsed();
  }
}

void IdleFlavors::review() {
  std::map<std::string, Duration> idle;
  for (const auto& [uid, workload] : workloads_) {
    if (could_get(*workload).empty()) continue;
    const auto known = idle_since_.find(uid);
    idle.emplace(uid, known == idle_since_.end() ? timeline_.elapsed() : known->second);
  }
  idle_since_ = std::move(idle);
}

std::string IdleFlavors::could_get(const Workload& workload) const {
  if (!competes(workload, timeline_.now().wall) || selects_nodes(workload)) return "";
  const ClusterQueuePtr queue = queue_of(workload);
  if (queue == nullptr || !is_ready(*queue)) return "";
  Requests left = requests_of(workload);
  std::string flavors;
  for (const ResourceGroup& group : queue->resource_groups) {
    Requests requests;
    for (const std::string& resource : group.covered_resources) {
      if (const auto request = left.extract(resource)) requests.insert({request.key(), request.mapped()});
    }
    if (requests.empty()) continue;
    const std::string flavor = free_flavor(workload, *queue, group, requests);
    if (flavor.empty()) return "";
    flavors += (flavors.empty() ? "" : " and ") + flavor;
  }
  left.erase("pods");  // they count where a group covers them
  return std::any_of(left.begin(), left.end(), [](const auto& request) { return request.second > 0; }) ? "" : flavors;
}

// One flavor for all its pods, although it could have several.
std::string IdleFlavors::free_flavor(const Workload& workload, const ClusterQueue& queue, const ResourceGroup& group,
                                     const Requests& requests) const {
  const FlavorHistory& history = workload.status.flavors;
  for (const FlavorQuotas& flavor : group.flavors) {
    const FlavorAttempt* attempt = history.is_about(queue.meta.name) ? history.find(flavor.name) : nullptr;
    if (attempt != nullptr && attempt->failure) continue;
    const Requests used = used_of(queue.meta.name, flavor);
    const bool fits = std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
      return std::any_of(flavor.resources.begin(), flavor.resources.end(), [&](const ResourceQuota& quota) {
        const auto taken = used.find(quota.name);
        return quota.name == request.first &&
               request.second + (taken == used.end() ? 0 : taken->second) <= to_amount(quota.name, quota.nominal);
      });
    });
    if (fits) return flavor.name;
  }
  return "";
}

Requests IdleFlavors::used_of(const std::string& queue, const FlavorQuotas& flavor) const {
  Requests used;
  for (const auto& [uid, workload] : workloads_) {
    const auto& admission = workload->status.admission;
    if (!admission || admission->cluster_queue != queue) continue;
    for (const PodSetAssignment& pod_set : admission->pod_sets) {
      for (const auto& [resource, amount] : pod_set.resource_usage) {
        const auto assigned = pod_set.flavors.find(resource);
        if (assigned != pod_set.flavors.end() && assigned->second == flavor.name)
          used[resource] += to_amount(resource, amount);
      }
    }
  }
  return used;
}

ClusterQueuePtr IdleFlavors::queue_of(const Workload& workload) const {
  const ObjectPtr object = server_.get({&kLocalQueues, workload.meta.ns, workload.queue_name});
  if (object == nullptr) return nullptr;
  const LocalQueuePtr local = read_local_queue(*object);
  const auto queue = queues_.find(local->cluster_queue);
  return local->stop_policy != StopPolicy::kNone || queue == queues_.end() ? nullptr : queue->second;
}

bool IdleFlavors::is_ready(const ClusterQueue& queue) const {
  if (!queue.cohort.empty() || queue.queueing_strategy == QueueingStrategy::kStrictFifo ||
      queue.stop_policy != StopPolicy::kNone || queue.meta.deleting)
    return false;
  const std::vector<std::string> flavors = flavors_of(queue);
  return std::all_of(flavors.begin(), flavors.end(),
                     [&](const std::string& name) {
                       const ObjectPtr object = server_.get({&kResourceFlavors, "", name});
                       return object != nullptr && read_resource_flavor(*object)->node_taints.empty();
                     }) &&
         std::all_of(queue.admission_checks.begin(), queue.admission_checks.end(), [&](const AdmissionCheckRule& rule) {
           const ObjectPtr object = server_.get({&kAdmissionChecks, "", rule.name});
           return object != nullptr && read_admission_check(*object)->active();
         });
}

}  // namespace muster::world
