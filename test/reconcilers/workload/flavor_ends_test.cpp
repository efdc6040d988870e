// When the time of a flavor ends (KEP-2560), for whoever must know it before a pass acts.
#include <doctest/doctest.h>

#include "test/reconcilers/workload/fallback_cluster.h"

namespace flavor_ends_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

TEST_CASE("flavor fallback: the ends of the flavors are the times at which a pass leaves them, and no other time") {
  const json groups = {{{"coveredResources", {"cpu"}}, {"flavors", {flavor("spot"), flavor("on-demand")}}},
                       {{"coveredResources", {"gpu"}}, {"flavors", json::array({flavor("fast", "gpu")})}}};
  struct Row {
    int cpu, gpu;  // minutes; 0: no timeout
    std::vector<int> ends, acts;
  };
  const Row rows[] = {
      {5, 0, {5}, {5}}, {5, 5, {5, 5}, {5}}, {5, 2, {2, 5}, {5}}, {2, 5, {2, 5}, {2}}, {0, 2, {2}, {2}}, {0, 0, {}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.cpu, " and ", row.gpu, " minutes");
    const auto rule = [](const char* name, int timeout) {
      return timeout > 0 ? json{{"name", name}, {"timeoutMinutes", timeout}} : json{{"name", name}};
    };
    const json rules = {rule("spot", row.cpu), rule("fast", row.gpu)};
    FallbackCluster cluster(rules);
    cluster.patch(kClusterQueues, "cq", {{"spec", {{"resourceGroups", groups}}}});
    cluster.set_rules(rules);
    cluster.admit({{"cpu", "spot"}, {"gpu", "fast"}});
    cluster.decisions.follow(cluster.now());
    const TimePoint begun = cluster.now().wall;
    const auto of_queue = [&] {
      return flavor_ends(cluster.known().status, *cluster.state.find<ClusterQueue>("cq")->fallback);
    };
    const std::vector<FlavorEnd> ends = of_queue();
    std::vector<int> minutes_of;
    for (const FlavorEnd& each : ends) {
      minutes_of.push_back(static_cast<int>(std::chrono::duration_cast<minutes>(each.end - begun).count()));
      CHECK(each.time == each.end - begun);
    }
    CHECK(minutes_of == row.ends);
    CHECK_FALSE(falls_back_at(cluster.known(), cluster.state, cluster.decisions, begun));
    for (const FlavorEnd& each : ends) {
      const int minute = static_cast<int>(std::chrono::duration_cast<minutes>(each.end - begun).count());
      const bool said = falls_back_at(cluster.known(), cluster.state, cluster.decisions, each.end);
      CHECK(said == (std::find(row.acts.begin(), row.acts.end(), minute) != row.acts.end()));
      cluster.pass(each.end - cluster.now().wall);
      cluster.done();
      CHECK(said == (cluster.evicted() == "True FlavorFallback"));
      if (said) break;
    }
    if (!row.ends.empty()) CHECK(of_queue().empty());
  }
}

TEST_CASE("flavor fallback: a flavor has the rest of its time, and stamps of another age do not overflow") {
  FallbackCluster cluster(timeouts(15));
  cluster.admit({{"cpu", "spot"}});
  const FallbackStrategy rules = *cluster.state.find<ClusterQueue>("cq")->fallback;
  WorkloadStatus status = cluster.known().status;
  FlavorAttempt& attempt = status.flavors.attempts.at(0);
  attempt.used_seconds = 600;
  const std::vector<FlavorEnd> rest = flavor_ends(status, rules);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].end == cluster.now().wall + minutes(5));
  CHECK(rest[0].time == minutes(5));
  CHECK(rest[0].flavor == "spot");
  for (const int64_t stamp : {INT64_MIN, INT64_MAX}) {
    for (const int32_t used : {INT32_MIN, INT32_MAX}) {
      attempt.assigned_at = {stamp, 0};
      attempt.used_seconds = used;
      const std::vector<FlavorEnd> ends = flavor_ends(status, rules);
      REQUIRE(ends.size() == 1);
      CHECK((ends[0].end > cluster.now().wall) == (stamp > 0));
    }
  }
  status.flavors.fallback->cluster_queue = "other";
  CHECK(flavor_ends(status, rules).empty());
}

}  // namespace flavor_ends_test
