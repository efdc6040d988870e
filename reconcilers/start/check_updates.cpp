// What admission checks ask for in their podSetUpdates.
#include <algorithm>

#include "api/workload.h"
#include "kinds/pod_set_info.h"
#include "reconcilers/start/start_contribution.h"

namespace muster::reconcilers {
namespace {

Outcome<NoStart> add_check_updates(const StartContext& context, const PodSetAssignment&, PodSetInfo& info) {
  for (const AdmissionCheckState& check : context.workload.status.admission_checks) {
    const auto update = std::find_if(check.pod_set_updates.begin(), check.pod_set_updates.end(),
                                     [&](const PodSetUpdate& candidate) { return candidate.name == info.name; });
    if (update == check.pod_set_updates.end()) continue;
    const PodSetInfo wanted{.name = info.name,
                            .labels = update->labels,
                            .annotations = update->annotations,
                            .node_selector = update->node_selector,
                            .tolerations = update->tolerations,
                            .scheduling_gates = {}};
    if (auto merged = merge(info, wanted); !merged)
      return fail_with(NoStart{.message = "in admission check \"" + check.name + "\": " + merged.error().message});
  }
  return Done{};
}

}  // namespace

extern const StartContribution check_updates_contribution{.name = "check_updates", .add = &add_check_updates};

}  // namespace muster::reconcilers
