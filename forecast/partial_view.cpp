#include "forecast/partial_view.h"

#include <limits>
#include <map>
#include <set>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/requests.h"
#include "api/workload.h"
#include "kinds/watched_kinds.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

// Amounts by flavor and resource.
using Holding = std::map<std::string, Requests>;

struct Seen {
  std::map<std::string, Holding> held;     // by ClusterQueue
  std::map<std::string, int32_t> waiting;  // by LocalQueue: "namespace/name"
  std::map<std::string, std::string> local_queues;
  std::vector<ClusterQueuePtr> cluster_queues;
  std::map<std::string, std::pair<WorkloadPtr, std::string>> lost;  // holders whose LocalQueue is not there, by it
};

bool holds_quota(const Workload& workload) {
  return workload.has_quota_reserved() && workload.status.admission && !workload.finished();
}

Seen look_at(const std::vector<SourceObject>& objects) {
  Seen seen;
  std::vector<WorkloadPtr> workloads;
  for (const SourceObject& source : objects) {
    const std::string_view kind = string_at(source.value, {"kind"});
    if (kind == kClusterQueues.kind) {
      seen.cluster_queues.push_back(read_cluster_queue(source.value));
    } else if (kind == kLocalQueues.kind) {
      const LocalQueuePtr queue = read_local_queue(source.value);
      seen.local_queues.emplace(path_of(queue->meta), queue->cluster_queue);
    } else if (kind == kWorkloads.kind) {
      workloads.push_back(read_workload(source.value));
    }
  }
  for (const WorkloadPtr& workload : workloads) {
    const std::string queue = path_of(workload->meta.ns, workload->queue_name);
    if (!holds_quota(*workload)) {
      if (!workload->finished() && workload->active) ++seen.waiting[queue];
      continue;
    }
    const Admission& admission = *workload->status.admission;
    Holding& held = seen.held[admission.cluster_queue];
    for (const PodSetAssignment& pod_set : admission.pod_sets) {
      for (const auto& [resource, quantity] : pod_set.resource_usage) {
        const auto flavor = pod_set.flavors.find(resource);
        if (flavor != pod_set.flavors.end())
          add(held[flavor->second], Requests{{resource, to_amount(resource, quantity)}});
      }
    }
    if (!seen.local_queues.contains(queue)) seen.lost[queue] = {workload, admission.cluster_queue};
  }
  return seen;
}

// Usage in the status that no visible Workload holds.
Holding unseen(const ClusterQueue& queue, const Seen& seen) {
  Holding rest;
  const auto held = seen.held.find(queue.meta.name);
  for (const FlavorUsage& flavor : queue.status.flavors_reservation) {
    for (const ResourceUsage& usage : flavor.resources) {
      int64_t amount = to_amount(usage.name, usage.total);
      if (held != seen.held.end()) {
        const auto of_flavor = held->second.find(flavor.name);
        if (of_flavor != held->second.end() && of_flavor->second.contains(usage.name))
          amount -= of_flavor->second.find(usage.name)->second;
      }
      if (amount > 0) rest[flavor.name][usage.name] = amount;
    }
  }
  return rest;
}

json local_queue(std::string_view ns, const std::string& name, const std::string& cluster_queue) {
  return {{"apiVersion", kLocalQueues.api_version},
          {"kind", kLocalQueues.kind},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"spec", {{"clusterQueue", cluster_queue}}}};
}

json is_true(std::string_view type) {
  return {{"type", type}, {"status", "True"}, {"reason", type}, {"message", "as its ClusterQueue counts it"}};
}

json holder(const ClusterQueue& queue, const Holding& holding) {
  json pod_sets = json::array(), assignments = json::array(), checks = json::array();
  for (const auto& [flavor, requests] : holding) {
    const std::string name = "part-" + std::to_string(pod_sets.size() + 1);
    json amounts = json::object(), flavors = json::object();
    for (const auto& [resource, amount] : requests) {
      amounts[resource] = to_quantity(resource, amount).text();
      flavors[resource] = flavor;
    }
    const json container = {{"name", "main"}, {"image", "none"}, {"resources", {{"requests", amounts}}}};
    pod_sets.push_back(
        {{"name", name},
         {"count", 1},
         {"template", {{"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}}}});
    assignments.push_back({{"name", name}, {"count", 1}, {"flavors", flavors}, {"resourceUsage", amounts}});
  }
  for (const AdmissionCheckRule& check : queue.admission_checks)
    checks.push_back({{"name", check.name}, {"state", "Ready"}, {"message", ""}});
  return {{"apiVersion", kWorkloads.api_version},
          {"kind", kWorkloads.kind},
          {"metadata", {{"name", queue.meta.name}, {"namespace", kOthers}}},
          {"spec",
           {{"queueName", queue.meta.name},
            {"priority", std::numeric_limits<int32_t>::max()},
            {"active", true},
            {"podSets", pod_sets}}},
          {"status",
           {{"admission", {{"clusterQueue", queue.meta.name}, {"podSetAssignments", assignments}}},
            {"admissionChecks", checks},
            {"conditions",
             {is_true(kQuotaReservedCondition), is_true(kAdmittedCondition), is_true(kPodsReadyCondition)}}}}};
}

// "20m of cpu on spot, 1 of gpu on spot".
std::string text_of(const Holding& holding) {
  std::string text;
  for (const auto& [flavor, requests] : holding) {
    for (const auto& [resource, amount] : requests) {
      text += text.empty() ? "" : ", ";
      text += to_quantity(resource, amount).text();
      text += " of " + resource + " on " + flavor;
    }
  }
  return text;
}

int32_t waiting_in(const ClusterQueue& queue, const Seen& seen) {
  int32_t count = 0;
  for (const auto& [local, waiting] : seen.waiting) {
    const auto found = seen.local_queues.find(local);
    if (found != seen.local_queues.end() && found->second == queue.meta.name) count += waiting;
  }
  return count;
}

}  // namespace

std::vector<std::string> complete_partial_view(std::vector<SourceObject>& objects) {
  const Seen seen = look_at(objects);
  std::vector<std::string> notes;
  const auto put = [&](json object) { objects.push_back({.place = "the cluster", .value = std::move(object)}); };
  for (const auto& [path, holds] : seen.lost)
    put(local_queue(holds.first->meta.ns, holds.first->queue_name, holds.second));
  for (const ClusterQueuePtr& queue : seen.cluster_queues) {
    const std::string& name = queue->meta.name;
    if (const Holding rest = unseen(*queue, seen); !rest.empty()) {
      put(local_queue(kOthers, name, name));
      put(holder(*queue, rest));
      notes.push_back("Workloads that you cannot list hold quota of ClusterQueue " + name + ": " + text_of(rest) +
                      ". When they end is not known: --run-time is assumed.");
    }
    if (const int32_t more = queue->status.pending_workloads - waiting_in(*queue, seen); more > 0)
      notes.push_back(std::to_string(more) + " Workload(s) that you cannot list wait in ClusterQueue " + name +
                      " and are not in the simulation: it can take longer.");
  }
  return notes;
}

}  // namespace muster::forecast
