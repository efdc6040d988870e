// Credentials from a program, as kubectl gets them from cloud vendors' tools.
// Source: client-go plugin/pkg/client/auth/exec, client.authentication.k8s.io/v1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret_text.h"
#include "kube/transport/cluster_access.h"

namespace muster::kube {

struct ExecCredential {
  std::string token;
  std::string certificate;           // PEM
  SecretText key;                    // PEM
  std::optional<TimePoint> expires;  // nullopt: good until the server refuses it
};

// The value of KUBERNETES_EXEC_INFO for this plugin. `authority` is the PEM that the plugin should trust, if it
// requested the cluster's details. Pure.
std::string exec_info(const ClusterAccess& access, const std::string& authority);

// What a plugin printed. Its apiVersion must be the one that was asked for. Pure.
Result<ExecCredential> read_exec_credential(std::string_view output, std::string_view api_version);

// Runs `access.exec`, which must be there. Blocks until it is done or out of time.
Result<ExecCredential> run_exec_plugin(const ClusterAccess& access, const std::string& authority, const Clock& clock);

}  // namespace muster::kube
