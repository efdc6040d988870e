// A kubelet's care for one pod: its init containers in order, the waiter among them, its
// main containers, restarts, and the delays by which it learns and tells.
//
// What a waiter sees of its ConfigMap is modelled as the kubelet does it: a volume holds
// what it held at the pod's last sync. A pod is synced when it starts, when one of its
// containers starts or ends, when its labels or annotations change, and otherwise 60 to 90 s
// after the last time; and then it gets what the kubelet's own watch of the ConfigMap has
// brought by then, which can be older than what the API server has. So a nudge can lose
// the race against the change that it announces.
//
// Main containers run as long as Fate says. Source: kubelet 1.36 pkg/kubelet
// (pod_workers.go, volumemanager, kuberuntime).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "test/world/api_server.h"
#include "test/world/waiter.h"

namespace muster::world {

// Annotations of a pod, read by default_fate() only.
inline constexpr std::string_view kRunSeconds = "simulation.muster.batch/run-seconds";    // 60
inline constexpr std::string_view kExitCode = "simulation.muster.batch/exit-code";        // 0
inline constexpr std::string_view kInitSeconds = "simulation.muster.batch/init-seconds";  // 1
// How long its containers go on after its deletion, at most for its grace period; negative: for ever, since its node is
// gone.
inline constexpr std::string_view kStopSeconds = "simulation.muster.batch/stop-seconds";

// How a pod will go.
struct Fate {
  Duration run = std::chrono::seconds(60);  // of all main containers
  int exit_code = 0;
  Duration init = std::chrono::seconds(1);  // of each init container that is no waiter
};
Fate default_fate(const nlohmann::json& pod);

struct KubeletTimes {
  Duration bind_low = std::chrono::milliseconds(10), bind_high = std::chrono::milliseconds(500);
  Duration pull_low = std::chrono::milliseconds(100), pull_high = std::chrono::seconds(3);
  // Until a change at the API server has reached the kubelet, pods and ConfigMaps apart.
  Duration watch_low = std::chrono::milliseconds(2), watch_high = std::chrono::milliseconds(300);
  // Until the kubelet has noticed what a container did.
  Duration notice_low = std::chrono::milliseconds(10), notice_high = std::chrono::seconds(1);
  Duration sync_low = std::chrono::seconds(60), sync_high = std::chrono::seconds(90);
  Duration stop_low = std::chrono::milliseconds(50), stop_high = std::chrono::seconds(2);
};

// One thread; dies with its pod, and with it all that it had planned.
class Kubelet {
 public:
  struct Surroundings {
    ApiServer& server;
    Timeline& timeline;
    Chance& chance;
    const KubeletTimes& times;
    // What the node's cache has of a ConfigMap at this moment.
    std::function<BarrierFiles(const ObjectKey&)> files_of;
    std::function<Fate(const nlohmann::json&)> fate_of;
    std::function<bool(std::string_view pod_name)> pull_fails;
  };

  // The pod has just been bound.
  Kubelet(Surroundings around, const nlohmann::json& pod);

  // Labels or annotations have changed.
  void pod_changed();
  // deletionTimestamp was set: the containers end, and with them the pod's life.
  void pod_deleted();
  // Something that made pull_fails() true is over.
  void retry_pull();
  bool end_main(int exit_code);
  std::string_view node() const;

 private:
  enum class Stage { kStarting, kInit, kMain, kEnded };

  ObjectPtr pod() const;
  // Runs later unless the pod has moved on to another step, or is gone.
  void after(Duration delay, std::function<void()> action);
  Duration some(Duration low, Duration high) { return around_.chance.between(low, high); }
  std::string stamp() const;

  void run_init(size_t index);
  void start_init();
  void start_waiter();
  void sync();
  void sync_again();
  void consult();
  void init_ended(int exit_code);
  void run_main();
  void start_main();
  void main_ended(int exit_code);
  void end(const char* phase);
  void set_running(nlohmann::json& status);
  void set_terminated(nlohmann::json& status, int exit_code, bool will_restart);
  void set_waiting(nlohmann::json& status, const char* reason, const char* message);
  void tell();

  const Surroundings around_;
  const ObjectKey key_;
  const std::string uid_;
  const nlohmann::json spec_;
  nlohmann::json init_statuses_, main_statuses_;
  std::string phase_ = "Pending";
  std::string start_time_;
  bool initialized_ = false, ready_ = false;
  Stage stage_ = Stage::kStarting;
  size_t init_ = 0;
  int restarts_ = 0;  // of the container that runs
  bool pulling_ = false;
  std::optional<Waiter> waiter_;
  MonotonicTime waiter_started_{};
  BarrierFiles mounted_;
  std::optional<ObjectKey> config_map_;
  uint64_t step_ = 0, sync_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::world
