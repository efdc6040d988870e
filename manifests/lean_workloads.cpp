#include "manifests/lean_workloads.h"

#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "manifests/admission_policy.h"
#include "manifests/match_conditions.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

constexpr const char* kName = "muster-lean-workloads";

}  // namespace

std::vector<json> lean_workloads_policy(const std::string& own_namespace) {
  const json rule = {{"apiGroups", {"kueue.x-k8s.io"}},
                     {"apiVersions", {"*"}},
                     {"operations", {"CREATE"}},
                     {"resources", {"workloads"}}};
  json policy = {
      // Only a saving: without it everything works.
      {"failurePolicy", "Ignore"},
      {"reinvocationPolicy", "Never"},
      {"matchConstraints", {{"resourceRules", json::array({rule})}}},
      {"matchConditions",
       json::array({match_conditions::by_muster(own_namespace), match_conditions::with_managed_fields()})},
      {"mutations",
       json::array(
           {{{"patchType", "JSONPatch"},
             {"jsonPatch", {{"expression", "[JSONPatch{op: \"remove\", path: \"/metadata/managedFields\"}]"}}}}})}};
  return admission_policy("MutatingAdmissionPolicy", kName, std::move(policy), json::object());
}

}  // namespace muster::manifests
