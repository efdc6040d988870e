// Devices that pods claim (DRA). muster does not count them, so a Workload that claims devices is refused.
#include <algorithm>

#include "api/texts/unmet_requests.h"
#include "state/demand/demand_source.h"

namespace muster::state {
namespace {

void refuse_device_claims(const DemandContext& context, DemandDraft& draft) {
  if (!context.settings.rules.enabled(Gate::kKueueDRARejectWorkloadsWhenDRADisabled)) return;
  if (std::any_of(draft.pods.begin(), draft.pods.end(), [](const PodDemand& pod) { return pod.spec.resource_claims; }))
    draft.refuse(kClaimsDevices);
}

}  // namespace

extern const DemandSource device_claims_source{.name = "device_claims", .add = &refuse_device_claims};

}  // namespace muster::state
