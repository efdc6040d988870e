// What the agent of a pod does next in a JobSet that restarts in place. Pure: values in, one step out.
// Source: JobSet KEP-467, and the agent of kubernetes-sigs/jobset (cmd/in-place-restart-agent).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace muster::agent {

// The JobSet, as far as an agent reads it.
struct JobSetView {
  bool exists = false;
  // It does not restart in place, or its annotation jobset.sigs.k8s.io/disable-in-place-restart says that agents hold
  // nothing back.
  bool bypassed = false;
  std::optional<int32_t> current{};
  std::optional<int32_t> previous{};
};
JobSetView read_view(const nlohmann::json& jobset);

struct AgentState {
  std::optional<int32_t> attempt{};  // as reported on the pod
  bool open = false;                 // the workers can start
};

enum class AgentStep {
  kWait,     // until the JobSet changes
  kReport,   // write attempt_of() to the pod
  kOpen,     // let the workers start
  kRestart,  // end with the exit code for which the kubelet restarts all containers of the pod
};
AgentStep next_step(const JobSetView& jobset, const AgentState& state);

// The attempt that containers which start now belong to: the one after the current attempt.
int32_t attempt_of(const JobSetView& jobset);

}  // namespace muster::agent
