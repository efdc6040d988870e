// An engine that leads, with its real reconcilers and scheduler: changes by hand are sent to it, and its writes
// wait for their answers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "kinds/watched_kinds.h"
#include "test/support/object_server.h"
#include "test/support/queue_objects.h"

namespace muster::test {

class ServedEngine : public ObjectServer {
 public:
  explicit ServedEngine(engine::EngineSettings settings = {}) : engine(std::move(settings)) {
    for (const WatchedKind& kind : watched_kinds()) engine.apply(engine::KindListed{kind.type, {}}, now());
    ServedEngine::shown(kNamespaces, get(kNamespaces, kNs));
    engine.apply(engine::LeadershipChanged{true}, now());
  }

  // What comes out of the engine next; the writes wait for answer().
  void plan() {
    engine::Commands commands = engine.plan(now());
    for (engine::Command& command : commands.writes) writes.push_back(std::move(command));
    measured.insert(measured.end(), commands.measurements.begin(), commands.measurements.end());
  }
  // kDone: as the API server decides. Otherwise it has not got the write.
  void answer(const engine::Command& command, reconcilers::WriteOutcome outcome = reconcilers::WriteOutcome::kDone) {
    engine::WriteFinished finished{command.id, outcome};
    if (outcome == reconcilers::WriteOutcome::kDone) {
      const world::Answer answer = carry_out(command.write);
      finished.outcome = answer.outcome;
      if (answer.object != nullptr) finished.object = read_object(*command.write.target.type, *answer.object);
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

  // A flavor of this many cpus, the ClusterQueue "cq" and the LocalQueue "lq".
  void put_queues(const char* cpu, const json& cluster_queue_spec = json::object()) {
    put(kResourceFlavors, "f", json::object());
    put_cluster_queue("cq", cpu, cluster_queue_spec);
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
    settle();
    measured.clear();
  }
  void put_cluster_queue(const char* name, const char* cpu, const json& more = json::object()) {
    put(kClusterQueues, name, cluster_queue_of({quota_of("f", {{"cpu", cpu}})}, more));
  }
  void put_workload(const std::string& name, const char* cpu, const json& more = json::object(),
                    const json& status = json::object()) {
    json workload = workload_of(1, pod_template_of({{"cpu", cpu}}), more);
    workload["status"] = status;
    put(kWorkloads, name, std::move(workload));
  }

  std::string condition_of(const std::string& workload, const char* type) const {
    return ObjectServer::condition_of(kWorkloads, workload, type);
  }

  engine::Engine engine;
  std::vector<engine::Command> writes;
  std::vector<Measurement> measured;

 protected:
  void shown(const ResourceType& type, const json& object) override {
    engine.apply(engine::ObjectChanged{read_object(type, object)}, now());
  }
  void gone(const ResourceType& type, const json& last) override {
    engine.apply(engine::ObjectRemoved{read_object(type, last)}, now());
  }
};

}  // namespace muster::test
