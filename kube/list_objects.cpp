#include "kube/list_objects.h"

#include <nlohmann/json.hpp>

namespace muster::kube {

using nlohmann::json;

Result<std::vector<json>, StatusError> list_objects(KubeApi& api, const Resource& resource,
                                                    const Selection& selection) {
  std::vector<json> objects;
  const ListHandler handler{.started = [&] { objects.clear(); },
                            .item =
                                [&](json& item) {
                                  item["apiVersion"] = api_version(resource);
                                  item["kind"] = resource.kind;
                                  objects.push_back(std::move(item));
                                }};
  auto version = api.list(resource, selection, handler);
  if (!version) return fail_with(version.error());
  return objects;
}

}  // namespace muster::kube
