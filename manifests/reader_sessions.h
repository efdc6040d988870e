// What makes a ReaderSession a proof of who asks: an admission policy of the API server, which compares spec.user with
// the user of the request. It needs no webhook. muster reads no session before it has seen that the policy refuses
// another user (kube/reader_session.h). Pure.
//
// Source: admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace muster::manifests {

// The policy and its binding.
std::vector<nlohmann::json> reader_session_policy();

}  // namespace muster::manifests
