// Whether an administrator's description of a kind holds in this cluster.
#pragma once

#include <stop_token>
#include <string>

#include "kinds/kind_description.h"
#include "kube/api.h"

namespace muster::runtime {

// What the CustomResourceDefinition of the kind says against its description, a line each; empty: nothing. One that is
// not installed, or cannot be read, contradicts nothing. An error: it is not known. Any thread.
Result<std::string, kube::StatusError> contradiction_of(kube::KubeApi& api, const KindDescription& kind,
                                                        std::stop_token stop);

}  // namespace muster::runtime
