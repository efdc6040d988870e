// The APIService: by it an API server passes the paths of a group and version on to another server.
#pragma once

#include "api/meta/resource_type.h"

namespace muster {

inline constexpr ResourceType kApiServices{
    "apiregistration.k8s.io", "v1", "apiservices", "APIService", false, "apiregistration.k8s.io/v1",
};

}  // namespace muster
