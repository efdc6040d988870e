// Queues and Workloads as the engine knows them, for tests of estimates.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "simulation/starts/start_estimator.h"

namespace muster::test {

class StartsCluster {
 public:
  // 2026-01-01T12:00:00Z
  Now now{TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime(std::chrono::hours(1000))};
  QueueSettings settings{};
  state::ClusterState state{};
  state::SchedulerDriver decisions{QueueSettings()};
  starts::QueueHistory history{};

  // ClusterQueue "cq" with 4 cpus of flavor "f", LocalQueue "lq" in namespace "team-a".
  explicit StartsCluster(const nlohmann::json& queue_spec = nlohmann::json::object()) {
    put(kResourceFlavors, {{"metadata", {{"name", "f"}}}});
    put(kNamespaces, {{"metadata", {{"name", "team-a"}}}});
    put_queue(queue_spec);
    put(kLocalQueues, {{"metadata", {{"name", "lq"}, {"namespace", "team-a"}}}, {"spec", {{"clusterQueue", "cq"}}}});
  }

  void put_queue(const nlohmann::json& patch) {
    nlohmann::json queue = {
        {"metadata", {{"name", "cq"}}},
        {"spec",
         {{"namespaceSelector", nlohmann::json::object()},
          {"resourceGroups",
           {{{"coveredResources", {"cpu"}},
             {"flavors", {{{"name", "f"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", "4"}}}}}}}}}}}}};
    queue["spec"].merge_patch(patch);
    put(kClusterQueues, queue);
  }

  void put(const ResourceType& type, nlohmann::json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = "uid-" + std::to_string(version_);
    const TypedObject typed = read_object(type, object);
    state.put_watched(typed);
    const ObjectKey key = key_of(typed);
    decisions.put(*state.find(type, key.ns, key.name), state, now);
    decisions.follow(now);
  }

  std::string ago(int seconds) const { return format_rfc3339(to_timestamp(now.wall - std::chrono::seconds(seconds))); }

  // Of one pod of so many cpus, created so many seconds ago.
  nlohmann::json workload(const std::string& name, int cpus, int created, const nlohmann::json& spec = {}) const {
    nlohmann::json made = {
        {"metadata",
         {{"name", name}, {"namespace", "team-a"}, {"uid", "uid-" + name}, {"creationTimestamp", ago(created)}}},
        {"spec",
         {{"queueName", "lq"},
          {"podSets",
           {{{"name", "main"},
             {"count", 1},
             {"template",
              {{"spec",
                {{"containers",
                  {{{"name", "main"}, {"resources", {{"requests", {{"cpu", std::to_string(cpus)}}}}}}}}}}}}}}}}}};
    if (!spec.is_null()) made["spec"].merge_patch(spec);
    return made;
  }
  // The same, admitted so many seconds ago.
  nlohmann::json running(const std::string& name, int cpus, int since, const nlohmann::json& spec = {}) const {
    nlohmann::json made = workload(name, cpus, since, spec);
    const auto condition = [&](const char* type) {
      return nlohmann::json{{"type", type}, {"status", "True"}, {"reason", type}, {"lastTransitionTime", ago(since)}};
    };
    made["status"] = {{"admission",
                       {{"clusterQueue", "cq"},
                        {"podSetAssignments",
                         {{{"name", "main"},
                           {"count", 1},
                           {"flavors", {{"cpu", "f"}}},
                           {"resourceUsage", {{"cpu", std::to_string(cpus)}}}}}}}},
                      {"conditions", nlohmann::json::array({condition("QuotaReserved"), condition("Admitted")})}};
    return made;
  }

  // So many Workloads of one cpu have run for so long.
  void observe(int count, double seconds, const std::string& queue = "team-a/lq") {
    for (int i = 0; i < count; ++i)
      history.run_times.note({.local_queue = queue, .cluster_queue = "cq", .shape = 0, .seconds = seconds});
  }

  starts::StartScene scene() const { return starts::take_start_scene(state, decisions, settings, false, now); }
  StartEstimates estimates(const starts::EstimateOptions& options = {}) const {
    return starts::estimate_starts(scene(), history, settings, options);
  }
  std::optional<StartEstimate> estimate(const std::string& name, const starts::EstimateOptions& options = {}) const {
    const StartEstimates all = estimates(options);
    const StartEstimate* found = all.find("team-a", name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  int64_t seconds_until(Timestamp time) const { return time.seconds - to_timestamp(now.wall).seconds; }

 private:
  int version_ = 0;
};

}  // namespace muster::test
