#include "kube/discovery.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::kube {
namespace {

using nlohmann::json;

StatusError no_document(const std::string& path) {
  return unanswered(kUnreadableReason, "GET " + path + " was answered with no discovery document");
}

// A document of this kind with a list that is not empty: every API server has some groups, and
// every version some kinds.
Result<json, StatusError> read_document(KubeApi& api, const std::string& path, std::string_view kind, const char* list,
                                        std::stop_token stop) {
  KubeRequest request;
  request.path = path;
  request.timeout = std::chrono::seconds(10);
  request.repeatable = true;
  auto document = api.send(request, std::move(stop));
  if (!document.ok()) return fail_with(document.error());
  if (string_at(*document, {"kind"}) != kind || array_at(*document, {list}).empty())
    return fail_with(no_document(path));
  return std::move(*document);
}

bool has_version(const json& groups, const Resource& resource) {
  for (const json& group : array_at(groups, {"groups"})) {
    if (string_at(group, {"name"}) != resource.group) continue;
    const json& versions = array_at(group, {"versions"});
    return std::any_of(versions.begin(), versions.end(),
                       [&](const json& version) { return string_at(version, {"version"}) == resource.version; });
  }
  return false;
}

}  // namespace

Result<bool, StatusError> is_served(KubeApi& api, const Resource& resource, std::stop_token stop) {
  if (!resource.group.empty()) {
    const auto groups = read_document(api, "/apis", "APIGroupList", "groups", stop);
    if (!groups.ok()) return fail_with(groups.error());
    if (!has_version(*groups, resource)) return false;
  }
  const std::string path = (resource.group.empty() ? "/api/" : "/apis/") + api_version(resource);
  const auto kinds = read_document(api, path, "APIResourceList", "resources", stop);
  if (!kinds.ok()) return fail_with(kinds.error());
  const json& resources = array_at(*kinds, {"resources"});
  return std::any_of(resources.begin(), resources.end(),
                     [&](const json& entry) { return string_at(entry, {"name"}) == resource.plural; });
}

}  // namespace muster::kube
