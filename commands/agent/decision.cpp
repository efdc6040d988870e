#include "commands/agent/decision.h"

#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/pods/in_place_pod.h"

namespace muster::agent {

JobSetView read_view(const nlohmann::json& object) {
  const JobSetPtr jobset = read_jobset(object);
  return {
      .exists = true,
      .bypassed = !jobset->restarts_in_place() || jobset->meta.annotations.contains(kDisableInPlaceRestartAnnotation),
      .current = jobset->status.current_in_place_attempt,
      .previous = jobset->status.previous_in_place_attempt};
}

AgentStep next_step(const JobSetView& jobset, const AgentState& state) {
  if (!jobset.exists) return AgentStep::kWait;
  if (jobset.bypassed) return state.open ? AgentStep::kWait : AgentStep::kOpen;
  if (!state.attempt) return AgentStep::kReport;
  if (jobset.previous && *state.attempt <= *jobset.previous) return AgentStep::kRestart;
  if (!state.open && jobset.current && *state.attempt == *jobset.current) return AgentStep::kOpen;
  return AgentStep::kWait;
}

int32_t attempt_of(const JobSetView& jobset) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  if (!jobset.current) return 0;
  return *jobset.current == kMost ? kMost : *jobset.current + 1;
}

}  // namespace muster::agent
