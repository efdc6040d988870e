#include "runtime/policy_binding.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "manifests/names.h"
#include "manifests/unqueued_policy.h"
#include "runtime/log.h"
#include "runtime/log_observers.h"

namespace muster::runtime {

using nlohmann::json;

namespace {

constexpr Duration kPause = std::chrono::seconds(10);

void tell(PolicyBindingState state) {
  const std::string name(manifests::kUnqueuedKindsPolicyName);
  if (state == PolicyBindingState::kChanged)
    log_info("the admission policy acts as unqueuedKinds and externalFrameworks say now",
             {{"ValidatingAdmissionPolicyBinding", name}});
  if (state == PolicyBindingState::kMissing)
    log_warning(
        "the admission policy is missing: users get no warning when an object with a queue has a kind that muster does "
        "not queue; apply the output of `muster manifests --only policies` (Kubernetes 1.30 or later)",
        {{"ValidatingAdmissionPolicyBinding", name}});
}

}  // namespace

Result<PolicyBindingState, kube::StatusError> keep_policy_binding(kube::KubeApi& api, const WantedPolicy& wanted,
                                                                  std::stop_token stop) {
  const kube::Resource resource = kube::resource_of(manifests::kValidatingAdmissionPolicyBindings);
  const auto binding = api.get(resource, "", manifests::kUnqueuedKindsPolicyName, stop);
  if (!binding && binding.error().not_found()) return PolicyBindingState::kMissing;
  if (!binding) return fail_with(binding.error());
  json patch = manifests::exclusion_patch(*binding, wanted.external);
  if (wanted.action) {
    const json actions = manifests::validation_actions(*wanted.action);
    if (array_at(*binding, {"spec", "validationActions"}) != actions) patch["spec"]["validationActions"] = actions;
  }
  if (patch.is_null()) return PolicyBindingState::kAsWanted;
  // Writes only over the version that was read: a change of another client in the meantime is not overwritten.
  patch["metadata"]["resourceVersion"] = string_at(*binding, {"metadata", "resourceVersion"});
  const auto written = api.patch_merge(resource, "", manifests::kUnqueuedKindsPolicyName, patch, {}, stop);
  if (!written) return fail_with(written.error());
  return PolicyBindingState::kChanged;
}

void settle_policy_binding(kube::KubeApi& api, const WantedPolicy& wanted, const kube::Timing& timing,
                           std::stop_token stop) {
  LogThrottle throttle(std::chrono::minutes(5));
  while (!stop.stop_requested()) {
    const auto state = keep_policy_binding(api, wanted, stop);
    if (state) return tell(*state);
    if (auto repeated = throttle.pass("policy", timing.clock.now().monotonic); repeated && !stop.stop_requested()) {
      log_warning("whether the admission policy acts as unqueuedKinds and externalFrameworks say is not known yet",
                  {{"why", state.error().message}, {"repeated", *repeated}});
    }
    timing.sleeper.sleep(kPause, stop);
  }
}

}  // namespace muster::runtime
