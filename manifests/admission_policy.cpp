#include "manifests/admission_policy.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "manifests/names.h"

namespace muster::manifests {

using nlohmann::json;

std::vector<json> admission_policy(std::string_view kind, std::string_view name, json spec, json binding) {
  const auto object = [&](const std::string& of_kind, json of_spec) -> json {
    return {{"apiVersion", "admissionregistration.k8s.io/v1"},
            {"kind", of_kind},
            {"metadata", {{"name", name}, {"labels", {{kAppNameLabel, kAppName}}}}},
            {"spec", std::move(of_spec)}};
  };
  binding["policyName"] = name;
  return {object(std::string(kind), std::move(spec)), object(std::string(kind) + "Binding", std::move(binding))};
}

}  // namespace muster::manifests
