// Whether the API server serves a kind, by its discovery documents. A 404 alone is no proof: a proxy without a backend,
// or a server during startup, answers in the same way.
//
// Source: apimachinery pkg/apis/meta/v1 (APIGroupList, APIResourceList).
#pragma once

#include "kube/api.h"

namespace muster::kube {

// Asks the discovery documents: the list of groups, and that of the kinds of the group's
// version. An error: they could not be read, or are not what they should be, and nothing is
// known.
Result<bool, StatusError> is_served(KubeApi& api, const Resource& resource, std::stop_token stop = {});

}  // namespace muster::kube
