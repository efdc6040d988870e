// An admission policy that takes `metadata.managedFields` from the Workloads that muster creates, before they
// are stored. It is a third of such an object: each write reads, merges and stores it, and each watch sends it,
// though no client applies Workloads. The API server evaluates it by itself (CEL); while the field is absent it
// keeps it so, until a client applies the object server-side. Pure.
//
// It is not among `all`: older API servers do not know the kind.
//
// Source: admissionregistration.k8s.io/v1 MutatingAdmissionPolicy, Kubernetes 1.36; KEP-3962.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace muster::manifests {

// The policy and its binding.
std::vector<nlohmann::json> lean_workloads_policy(const std::string& own_namespace);

}  // namespace muster::manifests
