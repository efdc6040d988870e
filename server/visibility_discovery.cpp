#include "server/visibility_discovery.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "explain/lists/pending_workloads.h"

namespace muster::server {
namespace {

using nlohmann::json;

constexpr std::string_view kSummary = "PendingWorkloadsSummary";
constexpr std::string_view kSubresource = "pendingworkloads";

struct Queue {
  std::string_view plural, singular;
  bool namespaced;
};
constexpr Queue kQueues[] = {{"clusterqueues", "clusterqueue", false}, {"localqueues", "localqueue", true}};

json version_entry(std::string_view version) {
  return {{"groupVersion", std::string(explain::kVisibilityGroup) + "/" + std::string(version)}, {"version", version}};
}

json group() {
  json versions = json::array();
  for (const std::string_view version : explain::kVisibilityVersions) versions.push_back(version_entry(version));
  return {{"name", explain::kVisibilityGroup}, {"versions", versions}, {"preferredVersion", versions.front()}};
}

// Clients cannot read the queues themselves here, only their pending Workloads.
json resources(std::string_view version) {
  json list = json::array();
  for (const Queue& queue : kQueues) {
    list.push_back({{"name", queue.plural},
                    {"singularName", queue.singular},
                    {"namespaced", queue.namespaced},
                    {"kind", kSummary},
                    {"verbs", json::array()}});
    list.push_back({{"name", std::string(queue.plural) + "/" + std::string(kSubresource)},
                    {"singularName", ""},
                    {"namespaced", queue.namespaced},
                    {"kind", kSummary},
                    {"verbs", {"get"}}});
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", version_entry(version)["groupVersion"]},
          {"resources", std::move(list)}};
}

json resource_discovery(const Queue& queue, const json& response) {
  return {
      {"resource", queue.plural},
      {"responseKind", response},
      {"scope", queue.namespaced ? "Namespaced" : "Cluster"},
      {"singularResource", queue.singular},
      {"verbs", json::array()},
      {"subresources", json::array({{{"subresource", kSubresource}, {"responseKind", response}, {"verbs", {"get"}}}})}};
}

json everything(std::string_view discovery_version) {
  json versions = json::array();
  for (const std::string_view version : explain::kVisibilityVersions) {
    const json response = {{"group", explain::kVisibilityGroup}, {"version", version}, {"kind", kSummary}};
    json list = json::array();
    for (const Queue& queue : kQueues) list.push_back(resource_discovery(queue, response));
    versions.push_back({{"version", version}, {"resources", std::move(list)}, {"freshness", "Current"}});
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/" + std::string(discovery_version)},
          {"metadata", json::object()},
          {"items", json::array({{{"metadata", {{"name", explain::kVisibilityGroup}, {"creationTimestamp", nullptr}}},
                                  {"versions", std::move(versions)}}})}};
}

bool has_parameter(std::string_view media_type, std::string_view parameter) {
  while (!media_type.empty()) {
    const size_t end = media_type.find(';');
    std::string_view part = media_type.substr(0, end);
    media_type = end == std::string_view::npos ? std::string_view{} : media_type.substr(end + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (part == parameter) return true;
  }
  return false;
}

bool accepts(std::string_view accept, std::string_view discovery_version) {
  while (!accept.empty()) {
    const size_t end = accept.find(',');
    const std::string_view type = accept.substr(0, end);
    accept = end == std::string_view::npos ? std::string_view{} : accept.substr(end + 1);
    if (has_parameter(type, "application/json") && has_parameter(type, "g=apidiscovery.k8s.io") &&
        has_parameter(type, "as=APIGroupDiscoveryList") && has_parameter(type, "v=" + std::string(discovery_version)))
      return true;
  }
  return false;
}

DiscoveryDocument plain(const json& document) {
  return {"application/json", muster::to_text(document) + "\n"};
}

DiscoveryDocument at_root(std::string_view accept) {
  for (const std::string_view version : {"v2", "v2beta1"}) {
    if (accepts(accept, version)) {
      return {"application/json;g=apidiscovery.k8s.io;v=" + std::string(version) + ";as=APIGroupDiscoveryList",
              muster::to_text(everything(version)) + "\n"};
    }
  }
  return plain({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", json::array({group()})}});
}

}  // namespace

std::optional<DiscoveryDocument> visibility_discovery(std::string_view path, std::string_view accept) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path == "/apis") return at_root(accept);
  const std::string of_group = "/apis/" + std::string(explain::kVisibilityGroup);
  if (path == of_group) {
    json document = group();
    document.update({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
    return plain(document);
  }
  for (const std::string_view version : explain::kVisibilityVersions) {
    if (path == of_group + "/" + std::string(version)) return plain(resources(version));
  }
  return std::nullopt;
}

}  // namespace muster::server
