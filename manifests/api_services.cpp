#include "manifests/api_services.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "manifests/names.h"

namespace muster::manifests {

using nlohmann::json;

json api_service_reference(const WebhookRegistration& registration) {
  return {{"namespace", registration.own_namespace},
          {"name", registration.service},
          {"port", registration.visibility_port}};
}

std::vector<json> api_services(const WebhookRegistration& registration) {
  std::vector<json> services;
  if (registration.visibility_port == 0) return services;
  for (const std::string_view name : kVisibilityApiServiceNames) {
    const size_t dot = name.find('.');
    services.push_back({{"apiVersion", kApiServices.api_version},
                        {"kind", kApiServices.kind},
                        {"metadata", {{"name", name}, {"labels", {{kAppNameLabel, kAppName}}}}},
                        {"spec",
                         {{"version", name.substr(0, dot)},
                          {"group", name.substr(dot + 1)},
                          {"groupPriorityMinimum", 100},
                          {"versionPriority", 100},
                          {"service", api_service_reference(registration)}}}});
  }
  return services;
}

}  // namespace muster::manifests
