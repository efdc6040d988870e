#include "state/metrics/resource_seconds.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "api/cluster_queue.h"
#include "api/requests.h"
#include "api/workload.h"
#include "state/queue_counts.h"
#include "state/stored_type.h"

namespace muster::state {
namespace {

bool is_counted(const Workload& workload) {
  return workload.status.admission && workload.has_quota_reserved() && workload.admitted() && !workload.finished();
}

bool same_use(const Workload& a, const Workload& b) {
  return a.status.admission == b.status.admission && a.status.reclaimable_pods == b.status.reclaimable_pods;
}

// Labels are names that administrators have made, not those that a status invents.
bool is_known(const ClusterState& state, const ClusterQueue* queue, const std::string& flavor,
              const std::string& resource) {
  if (queue == nullptr || state.find<ResourceFlavor>(flavor) == nullptr) return false;
  return std::any_of(queue->resource_groups.begin(), queue->resource_groups.end(), [&](const ResourceGroup& group) {
    return std::find(group.covered_resources.begin(), group.covered_resources.end(), resource) !=
           group.covered_resources.end();
  });
}

bool cover_the_same(const ClusterQueue& a, const ClusterQueue& b) {
  return std::equal(
      a.resource_groups.begin(), a.resource_groups.end(), b.resource_groups.begin(), b.resource_groups.end(),
      [](const ResourceGroup& x, const ResourceGroup& y) { return x.covered_resources == y.covered_resources; });
}

}  // namespace

double ResourceSeconds::Series::value(MonotonicTime at) const {
  const auto amount = static_cast<int64_t>(used);
  if (at <= since || amount <= 0) return integral;
  return integral + static_cast<double>(amount) * std::chrono::duration<double>(at - since).count();
}

void ResourceSeconds::settle(MonotonicTime at) {
  for (auto& [key, account] : accounts_) {
    for (auto& [quota, series] : account.series) {
      series.integral = series.value(at);
      series.since = at;
    }
  }
}

void ResourceSeconds::begin(MonotonicTime now) {
  if (std::exchange(counts_, true)) return;
  for (auto& [key, account] : accounts_) {
    for (auto& [quota, series] : account.series) series.since = now;
  }
}

void ResourceSeconds::end(MonotonicTime until) {
  if (!std::exchange(counts_, false)) return;
  settle(std::max(until, read_until_));
}

void ResourceSeconds::use(const Workload& workload, bool uses, MonotonicTime now) {
  for (const auto& [flavor, requests] : reserved_amounts(workload, reclaims_)) {
    for (const auto& [resource, amount] : requests) {
      // A status that says less than nothing takes nothing off the sum of others.
      if (amount <= 0) continue;
      const std::string& queue = workload.status.admission->cluster_queue;
      Series& series = accounts_[{queue, workload.meta.ns}].series[{flavor, resource}];
      if (counts_) series.integral = series.value(now);
      series.since = now;
      series.used += uses ? static_cast<uint64_t>(amount) : -static_cast<uint64_t>(amount);
    }
  }
}

void ResourceSeconds::note_workload(const Workload* before, const Workload* after, const ClusterState& state,
                                    MonotonicTime now) {
  const bool was = before != nullptr && is_counted(*before), is = after != nullptr && is_counted(*after);
  if ((!was && !is) || (was && is && same_use(*before, *after))) return;
  // First what comes: a series whose only Workload changes does not end.
  if (is) use(*after, true, now);
  if (!was) return;
  use(*before, false, now);
  const auto account = accounts_.find({before->status.admission->cluster_queue, before->meta.ns});
  if (account != accounts_.end()) prune(account, state);
}

void ResourceSeconds::note(const TypedObject* before, const TypedObject* after, const ClusterState& state,
                           MonotonicTime now) {
  const TypedObject& object = before != nullptr ? *before : *after;
  if (std::holds_alternative<WorkloadPtr>(object))
    return note_workload(pointer_to<Workload>(before), pointer_to<Workload>(after), state, now);
  if (std::holds_alternative<LocalQueuePtr>(object)) {
    const auto *was = pointer_to<LocalQueue>(before), *is = pointer_to<LocalQueue>(after);
    if (was != nullptr && is != nullptr && was->cluster_queue == is->cluster_queue) return;
    if (is != nullptr) ++accounts_[{is->cluster_queue, is->meta.ns}].local_queues;
    if (was == nullptr) return;
    const auto account = accounts_.find({was->cluster_queue, was->meta.ns});
    if (account == accounts_.end()) return;
    --account->second.local_queues;
    return prune(account, state);
  }
  if (std::holds_alternative<ClusterQueuePtr>(object)) {
    const auto *was = pointer_to<ClusterQueue>(before), *is = pointer_to<ClusterQueue>(after);
    if (was != nullptr && (is == nullptr || !cover_the_same(*was, *is))) prune_queue(was->meta.name, state);
    return;
  }
  if (std::holds_alternative<ResourceFlavorPtr>(object) && after == nullptr) prune_all(state);
}

// What is unknown begins at 0 when it is known again; what is in use stays, so that its end is found.
void ResourceSeconds::prune(Accounts::iterator account, const ClusterState& state) {
  const auto& [queue_name, ns] = account->first;
  Account& kept = account->second;
  const ClusterQueue* queue = state.find<ClusterQueue>(queue_name);
  for (auto entry = kept.series.begin(); entry != kept.series.end();) {
    const bool known = is_known(state, queue, entry->first.first, entry->first.second);
    if (!known) entry->second.integral = 0;
    const bool ends = entry->second.used == 0 && (!known || kept.local_queues == 0);
    entry = ends ? kept.series.erase(entry) : std::next(entry);
  }
  if (kept.local_queues == 0 && kept.series.empty()) accounts_.erase(account);
}

void ResourceSeconds::prune_queue(const std::string& cluster_queue, const ClusterState& state) {
  auto account = accounts_.lower_bound({cluster_queue, ""});
  while (account != accounts_.end() && account->first.first == cluster_queue) prune(account++, state);
}

void ResourceSeconds::prune_all(const ClusterState& state) {
  for (auto account = accounts_.begin(); account != accounts_.end();) prune(account++, state);
}

std::vector<GaugeReading> ResourceSeconds::read(const ClusterState& state, std::optional<MonotonicTime> until) const {
  if (counts_ && until) read_until_ = std::max(read_until_, *until);
  std::vector<GaugeReading> readings;
  for (const auto& [key, account] : accounts_) {
    const ClusterQueue* queue = state.find<ClusterQueue>(key.first);
    for (const auto& [quota, series] : account.series) {
      const auto& [flavor, resource] = quota;
      if (!is_known(state, queue, flavor, resource)) continue;
      const double amounts = counts_ ? series.value(read_until_) : series.integral;
      readings.push_back(
          {Gauge::kResourceSeconds,
           {{"cluster_queue", key.first}, {"namespace", key.second}, {"flavor", flavor}, {"resource", resource}},
           amounts / static_cast<double>(to_amount(resource, Quantity::of(1)))});
    }
  }
  return readings;
}

size_t ResourceSeconds::kept() const {
  size_t kept = 0;
  for (const auto& [key, account] : accounts_) kept += account.series.size();
  return kept;
}

void ResourceSeconds::recount(const ClusterState& state, MonotonicTime now) {
  if (counts_) settle(now);
  for (auto& [key, account] : accounts_) {
    account.local_queues = 0;
    for (auto& [quota, series] : account.series) series.used = 0;
  }
  state.for_each_of(kLocalQueues, [&](const TypedObject& object) { note(nullptr, &object, state, now); });
  state.for_each_of(kWorkloads, [&](const TypedObject& object) { note(nullptr, &object, state, now); });
  prune_all(state);
}

}  // namespace muster::state
