// What muster may do in a cluster, and nothing more: read the kinds that it watches
// (api/watched_kinds.h), keep its own Secret and its own two webhook configurations,
// ask who may read the metrics, and read its own Pod. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// ServiceAccount, ClusterRole and Role with their bindings, and the ClusterRole that
// whoever scrapes the metrics needs; and the Role of those who may reach `muster explain`
// through the API server, which a RoleBinding gives to whom it should.
//
// create cannot be limited by name, so muster may create any Secret in its own
// namespace, but read and change only `secret`. Listing and watching by name work
// with the field selector metadata.name, which muster uses.
std::vector<nlohmann::json> rbac_objects(std::string_view own_namespace, std::string_view secret);

}  // namespace muster
