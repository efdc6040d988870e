// What the agents of in-place restarts (docs/in-place-restart.md) can do, with the service account that JobSet's
// example gives them, jobset-in-place-restart in any namespace: an admission policy that the API server evaluates by
// itself. RBAC can only say "patch pods"; the policy says: one annotation, of the pod in which the agent runs. So a
// program that takes over such a pod can change no other pod, and cannot keep others from restarting. Pure.
//
// Source: admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy; KEP-4193 (a token says which pod it was issued
// to).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace muster::manifests {

// The policy and its binding.
std::vector<nlohmann::json> in_place_agent_policy();

}  // namespace muster::manifests
