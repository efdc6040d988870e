#include "manifests/unqueued_policy.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "manifests/match_conditions.h"
#include "manifests/names.h"

namespace muster {
namespace {

using nlohmann::json;

json named(const ResourceType& type, std::string_view kind) {
  return {{"apiVersion", type.api_version},
          {"kind", kind},
          {"metadata", {{"name", kUnqueuedKindsPolicyName}, {"labels", {{kAppNameLabel, kAppName}}}}}};
}

// One rule for each group. Whatever its version: the kinds' next one will not be queued either.
json resource_rules() {
  std::map<std::string, std::set<std::string>> resources;
  for (const UnqueuedKind& kind : unqueued_kinds())
    resources[std::string(kind.group)].insert(std::string(kind.resource));
  json rules = json::array();
  for (const auto& [group, plurals] : resources) {
    rules.push_back({{"apiGroups", {group}},
                     {"apiVersions", {"*"}},
                     {"resources", plurals},
                     {"operations", {"CREATE", "UPDATE"}},
                     {"scope", "Namespaced"}});
  }
  return rules;
}

// The sentence as CEL: it differs by the kind alone.
std::string sentence_of_request() {
  const std::string mark = "\n";
  const std::string sentence = unqueued_sentence(mark);
  const size_t at = sentence.find(mark);
  return "'" + sentence.substr(0, at) + "' + request.kind.kind + '" + sentence.substr(at + mark.size()) + "'";
}

}  // namespace

json validation_actions(UnqueuedKinds action) {
  return action == UnqueuedKinds::kDeny ? json::array({"Deny"}) : json::array({"Warn", "Audit"});
}

std::vector<json> unqueued_kinds_policy(const std::string& own_namespace, UnqueuedKinds action) {
  json policy = named(kValidatingAdmissionPolicyBindings, "ValidatingAdmissionPolicy");
  const json elsewhere = {{"key", "kubernetes.io/metadata.name"},
                          {"operator", "NotIn"},
                          {"values", json::array({"kube-system", own_namespace})}};
  policy["spec"] = {
      // It advises: an expression that cannot be evaluated must not stop pods.
      {"failurePolicy", "Ignore"},
      {"matchConstraints",
       {{"matchPolicy", "Equivalent"},
        {"namespaceSelector", {{"matchExpressions", json::array({elsewhere})}}},
        {"resourceRules", resource_rules()}}},
      {"matchConditions", json::array({match_conditions::not_being_deleted(), match_conditions::without_controller(),
                                       match_conditions::first_asks_for_queue()})},
      {"validations",
       json::array({{{"expression", "false"}, {"messageExpression", sentence_of_request()}, {"reason", "Forbidden"}}})},
  };
  json binding = named(kValidatingAdmissionPolicyBindings, kValidatingAdmissionPolicyBindings.kind);
  binding["spec"] = {{"policyName", kUnqueuedKindsPolicyName}, {"validationActions", validation_actions(action)}};
  return {std::move(policy), std::move(binding)};
}

}  // namespace muster
