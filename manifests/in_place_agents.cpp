#include "manifests/in_place_agents.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/pods/in_place_pod.h"
#include "manifests/admission_policy.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

constexpr const char* kAgentPolicyName = "muster-in-place-restart-agents";
constexpr std::string_view kPodUid = "authentication.kubernetes.io/pod-uid";

json map_variable(const char* name, const std::string& path) {
  return {{"name", name}, {"expression", "has(" + path + ") ? " + path + " : {}"}};
}

// That `other` has what `one` has, but for the attempt.
std::string covers(const std::string& one, const std::string& other) {
  return one + ".all(k, k == '" + std::string(kInPlaceRestartAttemptAnnotation) + "' || (k in " + other + " && " +
         other + "[k] == " + one + "[k]))";
}

std::string same_member(const std::string& field) {
  return "has(object." + field + ") == has(oldObject." + field + ") && (!has(object." + field + ") || object." + field +
         " == oldObject." + field + ")";
}

}  // namespace

std::vector<json> in_place_agent_policy() {
  const json rule = {{"apiGroups", {""}},
                     {"apiVersions", {"*"}},
                     {"operations", {"UPDATE"}},
                     {"resources", {"pods"}},
                     {"scope", "Namespaced"}};
  const std::string extra = "request.userInfo.extra";
  const std::string uid = "'" + std::string(kPodUid) + "'";
  json policy = {
      {"failurePolicy", "Fail"},
      {"matchConstraints", {{"matchPolicy", "Equivalent"}, {"resourceRules", json::array({rule})}}},
      {"matchConditions",
       json::array({{{"name", "by-an-agent"},
                     {"expression", "request.userInfo.username.matches('^system:serviceaccount:[^:]+:" +
                                        std::string(kInPlaceRestartAccount) + "$')"}}})},
      {"variables", json::array({map_variable("before", "oldObject.metadata.annotations"),
                                 map_variable("after", "object.metadata.annotations")})},
      {"validations",
       json::array(
           {{{"expression", "has(" + extra + ") && " + uid + " in " + extra + " && " + extra + "[" + uid +
                                "].exists(u, u == oldObject.metadata.uid)"},
             {"message", "an agent of in-place restarts can change only the pod in which it runs"},
             {"reason", "Forbidden"}},
            {{"expression", covers("variables.before", "variables.after") + " && " +
                                covers("variables.after", "variables.before") + " && " +
                                same_member("metadata.labels") + " && " + same_member("metadata.finalizers") + " && " +
                                same_member("metadata.ownerReferences") + " && object.spec == oldObject.spec"},
             {"message", "an agent of in-place restarts can change only the annotation " +
                             std::string(kInPlaceRestartAttemptAnnotation)},
             {"reason", "Forbidden"}}})}};
  return admission_policy("ValidatingAdmissionPolicy", kAgentPolicyName, std::move(policy),
                          {{"validationActions", json::array({"Deny"})}});
}

}  // namespace muster::manifests
