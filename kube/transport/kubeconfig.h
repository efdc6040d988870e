// Reads kubeconfig files into a ClusterAccess. Pure: texts in, value out.
// Source: client-go tools/clientcmd/api/v1/types.go.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/transport/cluster_access.h"

namespace muster::kube {

struct KubeconfigFile {
  std::string path;  // relative paths inside resolve against its folder
  std::string text;  // YAML or JSON
};

// Merges as kubectl does: the first file that has a context, cluster, user or
// current-context wins. `context` overrides current-context when not empty.
//
// Refuses what muster cannot honour, naming the field: auth-provider, proxy-url,
// impersonation, exec plugins that need a terminal; and what contradicts itself.
Result<ClusterAccess> read_kubeconfig(std::span<const KubeconfigFile> files, std::string_view context);

}  // namespace muster::kube
