#include "manifests/unqueued_policy.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "manifests/match_conditions.h"
#include "manifests/names.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

json named(const ResourceType& type, std::string_view kind) {
  return {{"apiVersion", type.api_version},
          {"kind", kind},
          {"metadata", {{"name", kUnqueuedKindsPolicyName}, {"labels", {{kAppNameLabel, kAppName}}}}}};
}

// "RayJob.v1.ray.io" names the kind, in whatever version.
bool is_named(const UnqueuedKind& kind, std::string_view framework) {
  const size_t version = framework.find('.');
  const size_t group = framework.find('.', version + 1);
  return group != std::string_view::npos && framework.substr(0, version) == kind.kind &&
         framework.substr(group + 1) == kind.group;
}

// One rule for each group. Whatever its version: the kinds' next one will not be queued either.
json resource_rules(const std::function<bool(const UnqueuedKind&)>& wanted) {
  std::map<std::string, std::set<std::string>> resources;
  for (const UnqueuedKind& kind : unqueued_kinds())
    if (wanted(kind)) resources[std::string(kind.group)].insert(std::string(kind.resource));
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
  const std::string of_kind =
      "'" + sentence.substr(0, at) + "' + request.kind.kind + '" + sentence.substr(at + 1) + "'";
  return "request.kind.kind == '" + std::string(kCronJobKind) + "' ? '" + std::string(kCronJobSentence) +
         "' : " + of_kind;
}

// Of the policy: the kinds of the table, and CronJobs.
json matched_rules() {
  json rules = resource_rules([](const UnqueuedKind&) { return true; });
  rules.push_back({{"apiGroups", {kCronJobGroup}},
                   {"apiVersions", {"*"}},
                   {"resources", {kCronJobResource}},
                   {"operations", {"CREATE", "UPDATE"}},
                   {"scope", "Namespaced"}});
  return rules;
}

json excluded_rules(const ExternalFrameworks& external) {
  return resource_rules([&](const UnqueuedKind& kind) {
    return std::any_of(external.begin(), external.end(),
                       [&](const std::string& framework) { return is_named(kind, framework); });
  });
}

}  // namespace

json exclusion_patch(const json& binding, const ExternalFrameworks& external) {
  const json wanted = excluded_rules(external);
  const bool ours = annotation(binding, kExternalFrameworksAnnotation).has_value();
  if (wanted.empty() && !ours) return nullptr;
  if (array_at(binding, {"spec", "matchResources", "excludeResourceRules"}) == wanted && ours) return nullptr;
  std::string names;
  for (const std::string& framework : external) names += (names.empty() ? "" : ",") + framework;
  json patch;
  patch["metadata"]["annotations"][std::string(kExternalFrameworksAnnotation)] =
      wanted.empty() ? json() : json(std::move(names));
  patch["spec"]["matchResources"] = wanted.empty() ? json() : json{{"excludeResourceRules", wanted}};
  return patch;
}

json validation_actions(UnqueuedKinds action) {
  return action == UnqueuedKinds::kDeny ? json::array({"Deny"}) : json::array({"Warn", "Audit"});
}

std::vector<json> unqueued_kinds_policy(const std::string& own_namespace, UnqueuedKinds action,
                                        const ExternalFrameworks& external) {
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
        {"resourceRules", matched_rules()}}},
      {"matchConditions", json::array({match_conditions::not_being_deleted(), match_conditions::without_controller(),
                                       match_conditions::first_asks_for_queue()})},
      {"validations",
       json::array({{{"expression", "false"}, {"messageExpression", sentence_of_request()}, {"reason", "Forbidden"}}})},
  };
  json binding = named(kValidatingAdmissionPolicyBindings, kValidatingAdmissionPolicyBindings.kind);
  binding["spec"] = {{"policyName", kUnqueuedKindsPolicyName}, {"validationActions", validation_actions(action)}};
  if (const json patch = exclusion_patch(binding, external); !patch.is_null()) binding.merge_patch(patch);
  return {std::move(policy), std::move(binding)};
}

}  // namespace muster::manifests
