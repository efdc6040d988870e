// What muster's own service account can write: an admission policy that the API server evaluates by itself. RBAC can
// only say "create Jobs, patch ConfigMaps"; the policy says which: what belongs to a JobSet, a gang or a queue, and
// webhooks for the kinds that muster's rules know. So a stolen token of muster makes its holder no administrator. What
// it does not narrow has a row in docs/threat-model.md. Pure.
//
// Policies see webhook configurations, which webhooks do not see, but no policies: of these muster can change the
// binding of muster-unqueued-kinds at most.
//
// Source: admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace muster::manifests {

// The policy and its binding.
std::vector<nlohmann::json> own_account_policy(const std::string& own_namespace);

}  // namespace muster::manifests
