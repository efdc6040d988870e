#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "state/metrics/measurements.h"
#include "test/reconcilers/queues/queue_cluster.h"
#include "test/support/measurements.h"

namespace ended_series_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;

TEST_CASE("measurements: series end with their queue and with the last one that names a Cohort") {
  QueueCluster cluster;
  cluster.put_queues({{"cohortName", "team"}});
  cluster.put(kClusterQueues, "second", {{"spec", {{"cohortName", "team"}}}});
  const auto ended = [&](const TypedObject& before) {
    std::vector<Measurement> measurements;
    note_ended_series(before, cluster.state, cluster.settings.queues, measurements);
    return to_texts(measurements);
  };
  const TypedObject first = *cluster.state.find(kClusterQueues, "", "cq");
  CHECK(ended(first).empty());  // only its status has changed
  cluster.vanish(kClusterQueues, "cq");
  CHECK(ended(first) == Texts{"ClusterQueueGone cq"});

  const TypedObject second = *cluster.state.find(kClusterQueues, "", "second");
  cluster.patch(kClusterQueues, "second", {{"spec", {{"cohortName", "other"}}}});
  CHECK(ended(second) == Texts{"CohortGone ^team"});
  cluster.put(kCohorts, "team", {{"spec", {{"parentName", "company"}}}});
  CHECK(ended(second).empty());
  const TypedObject team = *cluster.state.find(kCohorts, "", "team");
  cluster.vanish(kCohorts, "team");
  CHECK(ended(team) == Texts{"CohortGone ^team", "CohortGone ^company"});
  // One that ClusterQueues still name ends with its object, too.
  cluster.put(kCohorts, "other", json::object());
  const TypedObject other = *cluster.state.find(kCohorts, "", "other");
  cluster.vanish(kCohorts, "other");
  CHECK(ended(other) == Texts{"CohortGone ^other"});

  const TypedObject local = *cluster.state.find(kLocalQueues, "team-a", "lq");
  CHECK(ended(local).empty());
  cluster.settings.queues.metrics.local_queue_selector = LabelSelector();
  CHECK(ended(local) == Texts{"LocalQueueGone team-a/lq"});
  cluster.settings.queues.metrics = {};
  cluster.vanish(kLocalQueues, "lq");
  CHECK(ended(local) == Texts{"LocalQueueGone team-a/lq"});
}

}  // namespace ended_series_test
