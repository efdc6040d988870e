#include "explain/lists/usage_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/requests.h"
#include "explain/lists/workload_list.h"

namespace muster {

using nlohmann::json;

void UsageHistory::add(const QueueListing& listed) {
  std::map<std::string, Series, std::less<>> kept;
  for (const ListedClusterQueue& queue : listed.listing.cluster_queues) {
    Series& series = kept[queue.object->meta.name];
    if (auto known = queues_.find(queue.object->meta.name); known != queues_.end()) series = std::move(known->second);
    add(queue, listed.at, series);
  }
  queues_ = std::move(kept);
}

void UsageHistory::add(const ListedClusterQueue& queue, Timestamp at, Series& series) {
  Sample sample{.at = at,
                .pending = static_cast<uint32_t>(queue.pending.size()),
                .reserving = static_cast<uint32_t>(queue.holders.size()),
                .used = std::vector<int64_t>(series.quotas.size())};
  for (const ListedQuota& quota : queue.quotas) {
    const std::pair<std::string, std::string> key(quota.flavor, quota.resource);
    const auto known = std::find(series.quotas.begin(), series.quotas.end(), key);
    const auto index = static_cast<size_t>(known - series.quotas.begin());
    if (known == series.quotas.end()) {
      series.quotas.push_back(key);
      sample.used.push_back(0);
    }
    sample.used[index] = quota.used;
  }
  series.samples.push_back(std::move(sample));
  if (series.samples.size() > kMostSamples) series.samples.pop_front();
}

Result<json> UsageHistory::of_cluster_queue(std::string_view name) const {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return fail("nothing is known of a ClusterQueue " + std::string(name) + " yet");
  const Series& series = found->second;
  json times = json::array(), pending = json::array(), reserving = json::array(), resources = json::array();
  for (const Sample& sample : series.samples) {
    times.push_back(time_to_json(sample.at));
    pending.push_back(sample.pending);
    reserving.push_back(sample.reserving);
  }
  for (size_t i = 0; i < series.quotas.size(); ++i) {
    const auto& [flavor, resource] = series.quotas[i];
    json used = json::array();
    for (const Sample& sample : series.samples)
      used.push_back(to_quantity(resource, i < sample.used.size() ? sample.used[i] : 0).text());
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

}  // namespace muster
