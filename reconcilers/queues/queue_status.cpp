#include "reconcilers/queues/queue_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/jobset.h"
#include "api/workload.h"
#include "api/workload_conditions.h"
#include "reconcilers/queues/cluster_queue.h"

namespace muster::reconcilers {
namespace {

// The form of Kueue's status; in a merge patch, null removes the field.
void leave_out_empty_lists(nlohmann::json& status) {
  for (const char* list : {"flavorsReservation", "flavorsUsage"}) {
    if (status[list].empty()) status[list] = nullptr;
  }
}

// A LocalQueue has no quota that it could exceed, and its schema no such field.
void drop_borrowed(nlohmann::json& status) {
  for (const char* list : {"flavorsReservation", "flavorsUsage"}) {
    for (nlohmann::json& flavor : status[list]) {
      for (nlohmann::json& resource : flavor["resources"]) resource.erase("borrowed");
    }
  }
}

}  // namespace

std::vector<FlavorUsage> usage_of(const ClusterQueue& queue, const state::FlavorAmounts& amounts, bool shows_borrowed) {
  std::vector<FlavorUsage> usages;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      FlavorUsage usage{.name = flavor.name, .resources = {}};
      for (const ResourceQuota& quota : flavor.resources) {
        const int64_t used = state::amount_of(amounts, flavor.name, quota.name);
        const int64_t above = saturating_subtract(used, to_amount(quota.name, quota.nominal));
        const int64_t borrowed = shows_borrowed && !queue.cohort.empty() ? std::max<int64_t>(above, 0) : 0;
        usage.resources.push_back({.name = quota.name,
                                   .total = to_quantity(quota.name, used),
                                   .borrowed = to_quantity(quota.name, borrowed)});
      }
      // Sorted, as upstream shows them.
      std::sort(usage.resources.begin(), usage.resources.end(),
                [](const ResourceUsage& a, const ResourceUsage& b) { return a.name < b.name; });
      usages.push_back(std::move(usage));
    }
  }
  return usages;
}

void show_counts(QueueStatus& status, const ClusterQueue& queue, const state::QueueCounts& counts,
                 bool shows_borrowed) {
  status.reserving_workloads = counts.reserving;
  status.admitted_workloads = counts.admitted;
  status.flavors_reservation = usage_of(queue, counts.reserved, shows_borrowed);
  status.flavors_usage = usage_of(queue, counts.used, shows_borrowed);
}

void set_active(QueueStatus& status, const ObjectMeta& meta, bool active, std::string_view reason,
                std::string_view message, Now now) {
  set_condition(status.conditions, {.type = kActiveCondition,
                                    .status = active ? "True" : "False",
                                    .reason = reason,
                                    .message = message,
                                    .last_transition = whole_seconds(now.wall),
                                    .observed_generation = meta.generation});
}

void write_queue_status(const ResourceType& type, const ObjectMeta& meta, const QueueStatus& before,
                        const QueueStatus& status, Plan& plan) {
  if (status == before) return;
  nlohmann::json body = {{"status", to_json(status)}};
  if (type == kLocalQueues) drop_borrowed(body["status"]);
  leave_out_empty_lists(body["status"]);
  if (status.weighted_share)
    body["status"]["fairSharing"] = {{"weightedShare", *status.weighted_share}};
  else if (before.weighted_share)
    body["status"]["fairSharing"] = nullptr;
  // Counts can be written late. A change of the queue's Active condition is written at once.
  const bool only_counts = status.conditions == before.conditions;
  plan.writes.push_back({.verb = Verb::kPatchStatus,
                         .target = key_of(type, meta),
                         .body = with_version(meta, std::move(body)),
                         .rest = only_counts ? kQueueStatusRest : Duration::zero()});
}

}  // namespace muster::reconcilers
