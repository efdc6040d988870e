// Address and identity for an API server, from a kubeconfig or a pod: a value, read once. Values
// that change (tokens, certificates) are kept as their path or plugin;
// kube/transport/credentials.h reads those. Proxies are not used: HTTPS_PROXY and similar
// variables have no effect.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret_text.h"

namespace muster::kube {

// Bytes that are given, or lie in a file. At most one is set.
struct FileOrData {
  SecretText data;
  std::string path;  // absolute, or relative to the working directory

  bool empty() const { return data.empty() && path.empty(); }
};

// A program that prints credentials (KEP-541).
struct ExecPlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or /v1beta1
  std::string command;      // a name on PATH, or a path
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // in addition to muster's own
  bool provide_cluster_info = false;
  std::string cluster_config;  // JSON for spec.cluster.config; empty when there is none
  std::string install_hint;    // what the kubeconfig's author says when it is not found
  std::chrono::seconds timeout{60};
};

struct ClusterAccess {
  std::string source;  // for messages: "context \"dev\" of /home/u/.kube/config"
  std::string server;  // URL
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  FileOrData certificate_authority;  // empty: the system's roots
  FileOrData client_certificate;
  FileOrData client_key;
  FileOrData token;
  std::string username;
  std::string password;
  std::optional<ExecPlugin> exec;
  // The impersonated user of requests (Impersonate-User, -Group); empty: no impersonation.
  std::string impersonate_user{};
  std::vector<std::string> impersonate_groups{};
  // The context's namespace, or the pod's; "default" without either.
  std::string ns = "default";
};

// A variable of this process; nullopt: it is not set, or is empty.
std::optional<std::string> process_variable(const char* name);

// Where to look. `environment` reads one variable, nullopt when unset: process_variable(), but in tests.
struct AccessSearch {
  std::string kubeconfig;  // --kubeconfig; empty when not given
  std::string context;     // --context; empty: the current one
  std::function<std::optional<std::string>(const char*)> environment;
  std::string service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// The order of controller-runtime: --kubeconfig, the files of KUBECONFIG (merged as
// kubectl does, missing ones skipped), the pod's service account, ~/.kube/config.
// The first that is there decides; an error in it does not fall through to the next.
Result<ClusterAccess> find_cluster_access(const AccessSearch& search);

// The whole file, or a sentence with its path.
Result<SecretText> read_secret_file(const std::string& path);
Result<std::string> read_credential_file(const std::string& path);

}  // namespace muster::kube
