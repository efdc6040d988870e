// The binding of muster's admission policy (manifests/unqueued_policy.h), which decides whether the
// policy warns or denies, and which kinds it passes over: set to what the configuration says when muster starts, and
// reported where it is missing.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "kinds/unqueued_kinds.h"
#include "kube/api.h"
#include "kube/transport/timing.h"
#include "manifests/unqueued_policy.h"

namespace muster::runtime {

enum class PolicyBindingState {
  kAsWanted,  // or no setting says what is wanted
  kChanged,   // its actions were others until now
  kMissing,
};

struct WantedPolicy {
  std::optional<UnqueuedKinds> action{};     // nullopt: the configuration does not say
  manifests::ExternalFrameworks external{};  // the kinds that are passed over
};

// Reads the binding and, where it differs from what is wanted, writes that. The error is the API
// server's; then nothing is known.
Result<PolicyBindingState, kube::StatusError> keep_policy_binding(kube::KubeApi& api, const WantedPolicy& wanted,
                                                                  std::stop_token stop = {});

// The same until the API server has answered, with a line in the log where the binding was changed
// or is missing, or the API server refuses.
void settle_policy_binding(kube::KubeApi& api, const WantedPolicy& wanted, const kube::Timing& timing,
                           std::stop_token stop);

}  // namespace muster::runtime
