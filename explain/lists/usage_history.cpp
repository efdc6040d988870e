#include "explain/lists/usage_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/requests.h"
#include "explain/lists/workload_list.h"

namespace muster::explain {

using nlohmann::json;

void UsageHistory::add(const QueueListing& listed) {
  std::map<std::string, Series, std::less<>> kept;
  for (const scheduler::ListedClusterQueue& queue : listed.listing.cluster_queues) {
    Series& series = kept[queue.object->meta.name];
    if (auto known = queues_.find(queue.object->meta.name); known != queues_.end()) series = std::move(known->second);
    add(queue, listed.at, series);
  }
  queues_ = std::move(kept);
}

// A quota that was added later had no usage before.
void UsageHistory::widen(Series& series, const std::pair<std::string, std::string>& quota) {
  const size_t before = series.quotas.size();
  series.quotas.push_back(quota);
  std::vector<int64_t> used;
  used.reserve(kMostSamples * series.quotas.size());
  for (size_t sample = 0; sample < series.samples.size(); ++sample) {
    for (size_t i = 0; i < before; ++i) used.push_back(series.used[sample * before + i]);
    used.push_back(0);
  }
  series.used = std::move(used);
}

void UsageHistory::add(const scheduler::ListedClusterQueue& queue, Timestamp at, Series& series) {
  for (const scheduler::ListedQuota& quota : queue.quotas) {
    const std::pair<std::string, std::string> key(quota.flavor, quota.resource);
    if (std::find(series.quotas.begin(), series.quotas.end(), key) == series.quotas.end()) widen(series, key);
  }
  const size_t width = series.quotas.size();
  const bool full = series.samples.size() >= kMostSamples;
  const size_t place = full ? series.first : series.samples.size();
  if (full) {
    series.first = (series.first + 1) % kMostSamples;
  } else {
    series.samples.reserve(kMostSamples);
    series.samples.emplace_back();
    series.used.resize(series.samples.size() * width);
  }
  series.samples[place] = {.at = at.seconds,
                           .pending = static_cast<uint32_t>(queue.pending.size()),
                           .reserving = static_cast<uint32_t>(queue.holders.size())};
  const auto used = series.used.begin() + static_cast<std::ptrdiff_t>(place * width);
  std::fill_n(used, width, 0);
  for (const scheduler::ListedQuota& quota : queue.quotas) {
    const std::pair<std::string, std::string> key(quota.flavor, quota.resource);
    *(used + (std::find(series.quotas.begin(), series.quotas.end(), key) - series.quotas.begin())) = quota.used;
  }
}

Result<json> UsageHistory::of_cluster_queue(std::string_view name) const {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return fail("nothing is known of a ClusterQueue " + std::string(name) + " yet");
  const Series& series = found->second;
  json times = json::array(), pending = json::array(), reserving = json::array(), resources = json::array();
  const size_t count = series.samples.size();
  const auto place = [&](size_t i) { return (series.first + i) % count; };
  for (size_t i = 0; i < count; ++i) {
    const Sample& sample = series.samples[place(i)];
    times.push_back(time_to_json({sample.at, 0}));
    pending.push_back(sample.pending);
    reserving.push_back(sample.reserving);
  }
  for (size_t i = 0; i < series.quotas.size(); ++i) {
    const auto& [flavor, resource] = series.quotas[i];
    json used = json::array();
    for (size_t sample = 0; sample < count; ++sample)
      used.push_back(to_quantity(resource, series.used[place(sample) * series.quotas.size() + i]).text());
    resources.push_back({{"flavor", flavor}, {"resource", resource}, {"used", std::move(used)}});
  }
  return json{{"kind", "UsageHistory"},
              {"apiVersion", kListsApiVersion},
              {"metadata",
               {{"clusterQueue", name},
                {"intervalSeconds", std::chrono::duration_cast<std::chrono::seconds>(kUsageInterval).count()}}},
              {"times", std::move(times)},
              {"pending", std::move(pending)},
              {"reserving", std::move(reserving)},
              {"resources", std::move(resources)}};
}

}  // namespace muster::explain
