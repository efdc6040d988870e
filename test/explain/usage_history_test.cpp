#include "explain/lists/usage_history.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::explain::usage_history_test {
namespace {

using nlohmann::json;

scheduler::ListedClusterQueue queue_with(const std::string& name, size_t pending,
                                         std::vector<scheduler::ListedQuota> quotas) {
  scheduler::ListedClusterQueue queue;
  queue.object = read_cluster_queue({{"metadata", {{"name", name}}}});
  queue.pending.resize(pending);
  queue.quotas = std::move(quotas);
  return queue;
}

scheduler::ListedQuota quota(const std::string& flavor, const std::string& resource, int64_t used) {
  scheduler::ListedQuota made;
  made.flavor = flavor;
  made.resource = resource;
  made.used = used;
  return made;
}

QueueListing listing_at(int minute, std::vector<scheduler::ListedClusterQueue> queues) {
  QueueListing listed;
  listed.at = to_timestamp(TimePoint(std::chrono::hours(24 * 20000) + std::chrono::minutes(minute)));
  listed.listing.cluster_queues = std::move(queues);
  return listed;
}

TEST_CASE("usage history: every list has one entry for each sample") {
  UsageHistory history;
  history.add(listing_at(0, {queue_with("cq", 3, {quota("f", "cpu", 1500)})}));
  history.add(listing_at(5, {queue_with("cq", 1, {quota("f", "cpu", 4000), quota("f", "memory", 1024)})}));
  history.add(listing_at(10, {queue_with("cq", 0, {quota("f", "memory", 2048)})}));
  const auto found = history.of_cluster_queue("cq");
  REQUIRE(found.ok());
  CHECK(found->at("times").size() == 3);
  CHECK(found->at("times")[1] == "2024-10-04T00:05:00Z");
  CHECK(found->at("pending") == json{3, 1, 0});
  CHECK(found->at("reserving") == json{0, 0, 0});
  // A quota that came later, or is gone, counts as unused.
  CHECK(found->at("resources") == json{{{"flavor", "f"}, {"resource", "cpu"}, {"used", {"1500m", "4", "0"}}},
                                       {{"flavor", "f"}, {"resource", "memory"}, {"used", {"0", "1Ki", "2Ki"}}}});
}

TEST_CASE("usage history: a day is kept, and nothing of queues that are gone") {
  UsageHistory history;
  const int samples = static_cast<int>(UsageHistory::kMostSamples) + 10;
  for (int i = 0; i < samples; ++i)
    history.add(listing_at(5 * i, {queue_with("cq", static_cast<size_t>(i), {}), queue_with("gone", 0, {})}));
  history.add(listing_at(5 * samples, {queue_with("cq", 0, {})}));
  const auto found = history.of_cluster_queue("cq");
  REQUIRE(found.ok());
  CHECK(found->at("pending").size() == UsageHistory::kMostSamples);
  CHECK(found->at("pending")[0] == 11);
  const auto gone = history.of_cluster_queue("gone");
  REQUIRE_FALSE(gone.ok());
  CHECK(gone.error().message == "nothing is known of a ClusterQueue gone yet");
}

}  // namespace
}  // namespace muster::explain::usage_history_test
