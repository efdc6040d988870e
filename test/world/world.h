// A cluster in virtual time: an API server, its core controllers, nodes with kubelets,
// and muster's replicas, each a real Engine with watches and connections that can be
// late, lose the thread or fail. The same options give the same run, event by event.
//
//   world::World world({.seed = 7});
//   world.create(gang_of(3));                                  // a manifest, as a user applies it
//   CHECK(world.run_until([&] { return world.pods_running("train") == 3; }, 60s));
//   world.remove({&kJobs, "default", "train"});
//   CHECK(world.settle());                                     // quiet, nothing orphaned
//   CHECK(world.violations().empty());
//
// Faults come in two ways. By hand, at an exact place: kill(), restart(), lose_watches(),
// cut_off(), nodes().hold(), kill_after_write(n), at(time, anything). Or by chance:
// WorldOptions::faults gives their rates, and the seed decides.
//
//   for (uint64_t seed = 1; seed <= 200; ++seed) {
//     world::World world({.seed = seed, .replicas = 2, .faults = world::Faults::storm()});
//     ...
//     world.calm();                                            // no more faults by chance
//     INFO(world.report());
//     CHECK(world.settle());
//   }
//
// After every step the invariants of test/world/invariants/invariants.h are checked; what broke is in
// violations(), with its time, and report() is what to print with a failure.
//
// Pods run as long as their annotations say (test/world/kubelet.h).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "test/world/api_server.h"
#include "test/world/garbage_collector.h"
#include "test/world/invariants/invariants.h"
#include "test/world/invariants/pod_census.h"
#include "test/world/job_controller.h"
#include "test/world/leases.h"
#include "test/world/muster_process.h"
#include "test/world/nodes.h"
#include "test/world/operators.h"
#include "test/world/timeline.h"
#include "test/world/trainer.h"
#include "test/world/webhooks.h"
#include "test/world/write_log.h"

namespace muster::world {

struct WorldOptions {
  uint64_t seed = 1;
  int replicas = 1;
  // Whether the JobSet CRD is installed.
  bool jobsets_served = true;
  std::vector<std::string> namespaces = {"default"};
  // What muster is configured with; it is the JobSet controller in any case.
  QueueSettings queues{};
  // Rows must outlive the world.
  reconcilers::CheckControllers check_controllers = engine::check_controllers();
  ApiServerOptions api_server{};
  NodeOptions nodes{};
  ProcessOptions process{};
  Faults faults{};
};

class World {
 public:
  // Starts muster's replicas; the first leads as soon as it has the lease.
  explicit World(WorldOptions options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // --- The user ---

  // In the namespace "default" unless the manifest says another one.
  Answer create(nlohmann::json manifest);
  Answer patch(const ObjectKey& key, const nlohmann::json& merge_patch);
  Answer patch_status(const ObjectKey& key, const nlohmann::json& merge_patch);
  Answer remove(const ObjectKey& key, reconcilers::Propagation propagation = reconcilers::Propagation::kBackground);
  // What it owns stays.
  Answer orphan(const ObjectKey& key);
  // null (a JSON value) when there is none.
  nlohmann::json get(const ObjectKey& key) const;
  std::vector<nlohmann::json> list(const ResourceType& type, const std::string& label_selector = "") const;

  // --- Time ---

  Now now() const { return timeline_.now(); }
  Duration elapsed() const { return timeline_.elapsed(); }
  void run_for(Duration duration);
  // Asks after every step. False when the time has passed first.
  bool run_until(const std::function<bool()>& condition, Duration limit);
  // Until muster has asked for no write for ten minutes from now; then checks that nothing
  // is orphaned. False when it is still writing after two hours, or a violation was found.
  bool settle();
  void at(Duration elapsed, std::function<void()> action);
  void jump_wall_clock(Duration by);

  // --- Faults by hand ---

  int replicas() const { return static_cast<int>(processes_.size()); }
  MusterProcess& process(int replica) { return *processes_.at(replica); }
  // The process ends here and now, its state with it; of the requests that are on their
  // way some arrive. It is started again by restart(), or after `down_for`.
  void kill(int replica);
  void kill(int replica, Duration down_for);
  void restart(int replica);
  // Kills whichever replica's the n-th applied write from now is (1: the next), before it
  // hears the answer, and starts it again `down_for` later.
  void kill_after_write(int n, Duration down_for = std::chrono::seconds(1));
  // Neither watches nor writes nor renewals of the lease go through for a while.
  void cut_off(int replica, Duration duration);
  // The watches of a kind (nullptr: of all) break; they resume, or list again after a
  // compaction.
  void lose_watches(int replica, const ResourceType* type = nullptr);
  // The watches of a kind break, and none can be opened for a while; lists and writes go on.
  void break_watch(int replica, const ResourceType& type, Duration duration);
  // Hands the lease to another replica, or to none (-1) until the next call.
  void elect(int replica);
  int leader() const { return leases_.holder(); }
  // From now on nothing fails by chance; who is down comes back.
  void calm();

  // --- What is there ---

  Timeline& timeline() { return timeline_; }
  ApiServer& api_server() { return server_; }
  Nodes& nodes() { return nodes_; }
  // Pods in this namespace whose name begins so and whose main containers run.
  int pods_running(std::string_view name_prefix, std::string_view ns = "default") const {
    return pods_.running(ns, name_prefix);
  }
  // The same, whose waiter runs.
  int pods_waiting(std::string_view name_prefix, std::string_view ns = "default") const {
    return pods_.waiting(ns, name_prefix);
  }
  // Of any object; false when it does not exist.
  bool condition_true(const ObjectKey& key, std::string_view type) const;
  WriteCounts writes() const { return writes_.counts(); }
  WriteCounts writes(const ResourceType& type) const { return writes_.counts(type); }
  // Every event that muster reported, in order; those of processes that have died too.
  const std::vector<ObjectEvent>& events() const { return events_; }
  bool has_event(std::string_view reason) const;
  const std::vector<std::string>& violations() const { return invariants_.violations(); }
  // Seed, time, violations and the last writes, for a failing test.
  std::string report() const;
  // Makes the observer of each process's loop, with the settings of its engine; empty: there is none. It lives as long
  // as its world.
  static std::function<std::unique_ptr<engine::LoopObserver>(const engine::EngineSettings&)>& observer_maker();
  // Called with every world at its end: so that the invariants hold in every test.
  static std::function<void(const World&)>& end_inspector();

 private:
  void add_process(int replica);
  Answer carry_out(int replica, const reconcilers::Write& write, bool heard);
  void schedule_accident();
  void accident();
  bool step_until(MonotonicTime limit);

  const WorldOptions options_;
  Faults faults_ = options_.faults;
  Timeline timeline_;
  Chance chance_;
  ApiServer server_;
  Webhooks webhooks_;
  Invariants invariants_;
  PodCensus pods_;
  GarbageCollector garbage_collector_;
  JobController job_controller_;
  Operators operators_;
  Trainer trainer_;
  Nodes nodes_;
  Leases leases_;
  std::vector<std::unique_ptr<engine::LoopObserver>> observers_;
  std::vector<std::unique_ptr<MusterProcess>> processes_;
  std::vector<ObjectEvent> events_;
  WriteLog writes_;
  MonotonicTime last_write_{};
  int kill_after_ = 0;  // applied writes from now; 0: never
  Duration kill_down_for_{};
};

}  // namespace muster::world
