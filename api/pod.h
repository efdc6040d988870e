// A pod of a gang: where its waiter stands. Pods without a barrier never reach muster.
// Source: k8s.io/api/core/v1.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pods/pod_phase.h"

namespace muster {

// Of the container group-scheduling-init in status.initContainerStatuses. The pod's phase is Pending during this time,
// so it shows no progress.
enum class WaiterState {
  kNotStarted,  // no status yet, or waiting: image pull, earlier init containers
  kWaiting,     // runs: the pod has started and waits for the others
  kPassed,      // exited 0: the barrier has let it through
  kFailed,      // exited otherwise, and can be restarted in place
};

struct Pod {
  ObjectMeta meta;
  std::string phase;  // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::string node;   // empty: not scheduled
  // Of its start barrier: what the waiter looks into.
  std::string barrier_config_map;
  WaiterState waiter = WaiterState::kNotStarted;
  Timestamp waiter_started;  // of the present or last attempt; zero before the first
  int waiter_exit_code = 0;  // of kFailed
  // Why a pod is not there yet, as its own conditions or containers say it: "Unschedulable:
  // 0/3 nodes are available", "ErrImagePull: ..."; empty when nothing is known.
  std::string hindrance;

  // Its waiter runs or has let it through.
  bool has_started() const { return waiter == WaiterState::kWaiting || waiter == WaiterState::kPassed; }
  // Neither ended nor being deleted: counts for a gang.
  bool live() const { return !meta.deleting && !is_final_phase(phase); }
};

PodPtr read_pod(const nlohmann::json& object);

}  // namespace muster
