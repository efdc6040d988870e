// The documents by which clients find Kueue's visibility API on an API server: groups, versions, resources. They are
// the same in every cluster. Pure.
//
// Source: meta/v1 APIGroup and APIResourceList; apidiscovery.k8s.io/v2; the resources are those of Kueue's server.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace muster::server {

struct DiscoveryDocument {
  std::string content_type, text;
};

// For a path of discovery ("/apis", "/apis/visibility.kueue.x-k8s.io/v1beta2"), nullopt for any other. `accept` is the
// Accept header: at "/apis" the API server asks for all in one document (APIGroupDiscoveryList), and gets the newest
// version of it that it names.
std::optional<DiscoveryDocument> visibility_discovery(std::string_view path, std::string_view accept);

}  // namespace muster::server
