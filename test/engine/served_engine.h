// An engine with its real reconcilers and scheduler, and an API server that carries out its writes.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/watched_kinds.h"
#include "engine/engine.h"

namespace muster::test {

// The engine leads.
class ServedEngine {
 public:
  explicit ServedEngine(engine::EngineSettings settings = {}) : engine(std::move(settings)) {
    for (const WatchedKind& kind : watched_kinds()) engine.apply(engine::KindListed{kind.type, {}}, now());
    engine.apply(engine::LeadershipChanged{true}, now());
  }

  Now now() const {
    return {TimePoint(std::chrono::seconds(1'767'268'800) + passed_), MonotonicTime(std::chrono::hours(1) + passed_)};
  }
  void pass(Duration time) { passed_ += time; }

  void put(const ResourceType& type, const std::string& name, nlohmann::json object) {
    nlohmann::json& metadata = object["metadata"];
    metadata["name"] = name;
    metadata["uid"] = name;
    metadata["generation"] = ++version_;
    if (type.namespaced) metadata["namespace"] = "team-a";
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = "2026-01-01T12:00:00Z";
    metadata["resourceVersion"] = std::to_string(version_);
    engine.apply(engine::ObjectChanged{read_object(type, object)}, now());
    objects_[{&type, type.namespaced ? "team-a" : "", name}] = std::move(object);
  }
  void remove(const ResourceType& type, const std::string& name) {
    const ObjectKey key{&type, type.namespaced ? "team-a" : "", name};
    nlohmann::json object = objects_.at(key);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects_.erase(key);
    engine.apply(engine::ObjectRemoved{read_object(type, object)}, now());
  }

  // What comes out of the engine next; the writes wait for answer().
  void plan() {
    engine::Commands commands = engine.plan(now());
    for (engine::Command& command : commands.writes) writes.push_back(std::move(command));
    measured.insert(measured.end(), commands.measurements.begin(), commands.measurements.end());
  }
  void answer(const engine::Command& command, reconcilers::WriteOutcome outcome = reconcilers::WriteOutcome::kDone) {
    engine::WriteFinished finished{command.id, outcome};
    if (outcome == reconcilers::WriteOutcome::kDone) {
      nlohmann::json& object = objects_.at(command.write.target);
      object.merge_patch(command.write.body);
      object["metadata"]["resourceVersion"] = std::to_string(++version_);
      finished.object = read_object(*command.write.target.type, object);
    }
    engine.apply(finished, now());
  }
  // Until nothing more is wanted.
  void settle() {
    for (int rounds = 0; rounds < 50; ++rounds) {
      plan();
      if (writes.empty()) return;
      for (const engine::Command& command : std::exchange(writes, {})) answer(command);
    }
    FAIL_CHECK("the engine does not come to rest");
  }

  // A flavor of so many cpus, the ClusterQueue "cq" and the LocalQueue "lq".
  void put_queues(const char* cpu, const nlohmann::json& cluster_queue_spec = nlohmann::json::object()) {
    put(kNamespaces, "team-a", nlohmann::json::object());
    put(kResourceFlavors, "f", nlohmann::json::object());
    put_cluster_queue("cq", cpu, cluster_queue_spec);
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
    settle();
    measured.clear();
  }
  void put_cluster_queue(const char* name, const char* cpu, const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json spec = {
        {"namespaceSelector", nlohmann::json::object()},
        {"resourceGroups",
         {{{"coveredResources", {"cpu"}},
           {"flavors", {{{"name", "f"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", cpu}}}}}}}}}}};
    spec.merge_patch(more);
    put(kClusterQueues, name, {{"spec", spec}});
  }
  void put_workload(const std::string& name, const char* cpu, const nlohmann::json& more = nlohmann::json::object(),
                    const nlohmann::json& status = nlohmann::json::object()) {
    nlohmann::json spec = {
        {"queueName", "lq"},
        {"podSets",
         {{{"name", "main"},
           {"count", 1},
           {"template",
            {{"spec", {{"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}}}}}}};
    spec.merge_patch(more);
    put(kWorkloads, name, {{"spec", spec}, {"status", status}});
  }

  std::string condition_of(const std::string& workload, const char* type) const {
    const Workload* found = engine.state().workload("team-a", workload);
    const Condition* condition = found == nullptr ? nullptr : find_condition(found->status.conditions, type);
    return condition == nullptr ? "" : condition->status + " " + condition->reason;
  }

  engine::Engine engine;
  std::vector<engine::Command> writes;
  std::vector<Measurement> measured;

 private:
  Duration passed_{};
  uint64_t version_ = 100;
  std::map<ObjectKey, nlohmann::json> objects_;
};

}  // namespace muster::test
