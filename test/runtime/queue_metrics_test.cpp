// The gauges that the reconcilers' folder reads, in the families that the server shows:
// both sides must mean the same labels in the same order.
#include "server/metrics/queue_metrics.h"

#include <doctest/doctest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "engine/engine.h"
#include "kinds/watched_kinds.h"
#include "server/metrics/metrics.h"
#include "state/metrics/queue_gauges.h"

namespace queue_metrics_test {

using namespace muster;
using nlohmann::json;

namespace {

Now at(int64_t seconds) {
  return {TimePoint(std::chrono::seconds(1'767'268'800 + seconds)), MonotonicTime(std::chrono::seconds(seconds))};
}

void put(engine::Engine& engine, const ResourceType& type, const char* name, json object, const char* ns = "") {
  static int version = 0;
  object["metadata"]["name"] = object["metadata"]["uid"] = name;
  if (*ns != '\0') object["metadata"]["namespace"] = ns;
  object["metadata"]["resourceVersion"] = std::to_string(++version);
  engine.apply(engine::ObjectChanged{read_object(type, object)}, at(0));
}

// Label values, by family and label name.
std::map<std::string, std::map<std::string, std::set<std::string>>> labels_in(const std::string& text) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> labels;
  static const std::regex kSeries(R"(((?:kueue|muster_cohort)_\w+)\{([^}]*)\} \S+)"), kLabel(R"re((\w+)="([^"]*)")re");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch series;
    if (!std::regex_match(line, series, kSeries)) continue;
    const std::string list = series[2];
    for (std::sregex_iterator it(list.begin(), list.end(), kLabel), end; it != end; ++it)
      labels[series[1]][(*it)[1]].insert((*it)[2]);
  }
  return labels;
}

}  // namespace

TEST_CASE("queue metrics: every gauge of a living engine bears the labels that it is known by") {
  engine::EngineSettings engine_settings;
  engine_settings.reconcilers.queues.fair_sharing = {FairStrategy::kLessThanInitialShare};
  engine_settings.reconcilers.queues.metrics.cluster_queue_resources = true;
  engine::Engine engine(engine_settings);
  for (const WatchedKind& kind : watched_kinds()) engine.apply(engine::KindListed{kind.type, {}}, at(0));
  engine.apply(engine::LeadershipChanged{true}, at(0));
  put(engine, kNamespaces, "the-namespace", json::object());
  put(engine, kResourceFlavors, "the-flavor", json::object());
  put(engine, kCohorts, "the-cohort", {{"spec", {{"parentName", "the-root"}}}});
  put(engine, kClusterQueues, "the-queue",
      {{"spec",
        {{"cohortName", "the-cohort"},
         {"namespaceSelector", json::object()},
         {"resourceGroups",
          {{{"coveredResources", {"the-resource"}},
            {"flavors",
             {{{"name", "the-flavor"}, {"resources", {{{"name", "the-resource"}, {"nominalQuota", "3"}}}}}}}}}}}}});
  put(engine, kLocalQueues, "the-local", {{"spec", {{"clusterQueue", "the-queue"}}}}, "the-namespace");
  put(engine, kWorkloads, "wl", {{"spec", {{"queueName", "the-local"}, {"active", false}, {"podSets", json::array()}}}},
      "the-namespace");
  engine.plan(at(0));

  server::QueueMetrics queues(true, [&] {
    return GaugeReadings{engine.leads(),
                         state::queue_gauges(engine.state(), engine.decisions(), engine.queue_settings())};
  });
  server::Metrics metrics(server::MetricsOptions{.version = "1", .rules = {}});
  metrics.include(queues.collectable());
  const auto families = labels_in(metrics.expose());
  CHECK(families.size() == 29);
  const std::map<std::string, std::set<std::string>> known = {
      {"cluster_queue", {"the-queue"}},
      {"cohort", {"the-cohort", "the-root"}},
      {"parent_cohort", {"the-cohort", "the-root", ""}},
      {"root_cohort", {"the-root"}},
      {"dynamic_quota_orchestrator", {""}},
      {"flavor", {"the-flavor"}},
      {"resource", {"the-resource"}},
      {"name", {"the-local"}},
      {"namespace", {"the-namespace"}},
      {"status", {"active", "inadmissible", "pending", "terminating"}},
      {"active", {"True", "False", "Unknown"}},
      {"reason", {"NoReservation"}},
      {"underlying_cause", {"PendingEvaluation"}},
      {"replica_role", {"leader"}},
  };
  for (const auto& [family, labels] : families) {
    for (const auto& [label, values] : labels) {
      const std::string where = family + " " + label;
      CAPTURE(where);
      const auto expected = known.find(label);
      REQUIRE(expected != known.end());
      for (const std::string& value : values) CHECK(expected->second.contains(value));
    }
  }
}

}  // namespace queue_metrics_test
