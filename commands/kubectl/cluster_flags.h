// How the commands for people reach a cluster and muster in it, in kubectl's words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "manifests/names.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct ClusterFlags {
  std::string kubeconfig{}, context{};
  std::string ns{};  // empty: the context's
  std::string as_user{};
  std::vector<std::string> as_groups{};
  std::optional<Duration> request_timeout{};  // of each request; nullopt: the client's own

  bool local = false;         // muster is not asked
  std::string config_file{};  // muster's, for an answer that is found here
  // How muster is reached: its Service, or a URL of its metrics listener.
  std::string muster_namespace{manifests::kDefaultNamespace};
  std::string service{manifests::kMetricsServiceName};
  // In whose name muster is asked: a service account; empty: the own.
  std::string service_account{};
  std::string server{};
  std::string server_ca{};  // a file; empty: the system's roots
};

// -n, --kubeconfig, --context, --as, --as-group, --request-timeout.
void add_cluster_flags(CLI::App& command, ClusterFlags& flags);
// --local, --config, and how muster is reached.
void add_reader_flags(CLI::App& command, ClusterFlags& flags);

}  // namespace muster::commands
