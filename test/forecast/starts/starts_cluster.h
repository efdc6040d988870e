// Queues and Workloads as the engine knows them, for tests of estimates.
#pragma once

#include <optional>
#include <string>

#include "forecast/starts/start_estimator.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

class StartsCluster : public ReconciledCluster {
 public:
  starts::QueueHistory history{};

  // ClusterQueue "cq" with 4 cpus of flavor "f", LocalQueue "lq" in namespace "team-a".
  explicit StartsCluster(const json& queue_spec = json::object()) : ReconciledCluster({}) {
    put(kResourceFlavors, "f", json::object());
    put(kClusterQueues, "cq", cluster_queue_of({quota_of("f", {{"cpu", "4"}})}, queue_spec));
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
  }

  std::string ago(int seconds) const { return stamp(-std::chrono::seconds(seconds)); }

  // Of one pod of this many cpus, created this many seconds ago.
  json workload(const std::string& name, int cpus, int created, const json& spec = json::object()) const {
    json made = workload_of(1, pod_template_of({{"cpu", std::to_string(cpus)}}), spec);
    made["metadata"] = {
        {"name", name}, {"namespace", kNs}, {"uid", "uid-" + name}, {"creationTimestamp", ago(created)}};
    return made;
  }
  // The same, admitted this many seconds ago.
  json running(const std::string& name, int cpus, int since, const json& spec = json::object()) const {
    json made = workload(name, cpus, since, spec);
    json conditions = json::array();
    for (const char* type : {"QuotaReserved", "Admitted"})
      conditions.push_back(condition_at(ago(since), type, "True", type));
    made["status"] = {{"admission", admission_of(1, {{"cpu", "f"}}, {{"cpu", std::to_string(cpus)}})},
                      {"conditions", conditions}};
    return made;
  }
  // The same, which ended five minutes ago.
  json finished(const std::string& name, int cpus, int since) const {
    json made = running(name, cpus, since);
    made["status"]["conditions"].push_back(condition_at(ago(300), "Finished", "True", "Succeeded"));
    return made;
  }

  // This many Workloads of one cpu have run for so long.
  void observe(int count, double seconds, const std::string& queue = "team-a/lq") {
    for (int i = 0; i < count; ++i)
      history.run_times.note({.local_queue = queue, .cluster_queue = "cq", .shape = 0, .seconds = seconds});
  }

  starts::StartScene scene() const { return starts::take_start_scene(state, decisions, settings.queues, false, now()); }
  StartEstimates estimates(const starts::EstimateOptions& options = {}) const {
    return starts::estimate_starts(scene(), history, settings.queues, options);
  }
  std::optional<StartEstimate> estimate(const std::string& name, const starts::EstimateOptions& options = {}) const {
    const StartEstimates all = estimates(options);
    const StartEstimate* found = all.find("team-a", name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  int64_t seconds_until(Timestamp time) const { return time.seconds - to_timestamp(now().wall).seconds; }

 protected:
  // The scheduler follows each change, as on a replica that does not lead.
  void shown(const ResourceType& type, const json& object) override {
    ReconciledCluster::shown(type, object);
    decisions.follow(now());
  }
};

}  // namespace muster::test
