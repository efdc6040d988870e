#include "manifests/unqueued_policy.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "jobs/job_kind.h"
#include "manifests/names.h"

namespace unqueued_policy_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

TEST_CASE("the admission policy matches the kinds that are not queued and no other") {
  std::set<std::string> matched, wanted;
  const json policy = unqueued_kinds_policy("batch", UnqueuedKinds::kWarn).at(0);
  for (const json& rule : policy.at("/spec/matchConstraints/resourceRules"_json_pointer)) {
    CHECK(rule.at("operations") == json{"CREATE", "UPDATE"});
    for (const json& resource : rule.at("resources"))
      matched.insert(rule.at("apiGroups").at(0).get<std::string>() + "/" + resource.get<std::string>());
  }
  for (const UnqueuedKind& kind : unqueued_kinds())
    wanted.insert(std::string(kind.group) + "/" + std::string(kind.resource));
  wanted.insert("batch/cronjobs");
  CHECK(matched == wanted);
  // Those that are described are in it: which of them are enabled is for the binding (kinds_with_queue()).
  for (const jobs::JobKind* kind : {&jobs::batch_job, &jobs::jobset})
    CHECK_FALSE(matched.contains(std::string(kind->type.group) + "/" + std::string(kind->type.plural)));
}

TEST_CASE("the admission policy spares the control plane and muster's own namespace and asks nobody") {
  const json policy = unqueued_kinds_policy("batch", UnqueuedKinds::kWarn).at(0);
  CHECK(policy.at("/spec/matchConstraints/namespaceSelector/matchExpressions/0/values"_json_pointer) ==
        json{"kube-system", "batch"});
  // An expression that cannot be evaluated stops no pod.
  CHECK(policy.at("/spec/failurePolicy"_json_pointer) == "Ignore");
  std::set<std::string> conditions;
  for (const json& condition : policy.at("/spec/matchConditions"_json_pointer)) conditions.insert(condition.at("name"));
  CHECK(conditions == std::set<std::string>{"not-being-deleted", "without-controller", "first-asks-for-queue"});
}

TEST_CASE("the binding of the admission policy warns or denies") {
  const auto warns = unqueued_kinds_policy("batch", UnqueuedKinds::kWarn);
  const auto denies = unqueued_kinds_policy("batch", UnqueuedKinds::kDeny);
  CHECK(warns.at(0) == denies.at(0));
  CHECK(warns.at(1).at("spec").at("policyName") == warns.at(0).at("metadata").at("name"));
  CHECK(warns.at(1).at("spec").at("validationActions") == json{"Warn", "Audit"});
  CHECK(denies.at(1).at("spec").at("validationActions") == json{"Deny"});
}

TEST_CASE("the binding of the admission policy passes over external frameworks") {
  const json rule = {{"apiGroups", {"ray.io"}},
                     {"apiVersions", {"*"}},
                     {"resources", {"rayclusters", "rayjobs"}},
                     {"operations", {"CREATE", "UPDATE"}},
                     {"scope", "Namespaced"}};
  const json rules = json::array({rule});
  const ExternalFrameworks external = {"RayJob.v1.ray.io", "RayCluster.v1.ray.io", "Train.v1.example.com"};
  json binding = unqueued_kinds_policy("batch", UnqueuedKinds::kWarn, external).at(1);
  CHECK(binding.at("/spec/matchResources/excludeResourceRules"_json_pointer) == rules);
  CHECK(exclusion_patch(binding, external).is_null());

  // Fewer, and none: then nothing of muster's is left.
  CHECK(exclusion_patch(binding, {"RayJob.v1.ray.io"})
            .at("/spec/matchResources/excludeResourceRules/0/resources"_json_pointer) == json{"rayjobs"});
  binding.merge_patch(exclusion_patch(binding, {}));
  CHECK_FALSE(binding["spec"].contains("matchResources"));
  CHECK(exclusion_patch(binding, {}).is_null());

  // What an administrator has excluded stays, until a framework is external.
  binding["spec"]["matchResources"]["excludeResourceRules"] = rules;
  CHECK(exclusion_patch(binding, {}).is_null());
  CHECK(exclusion_patch(binding, {"Train.v1.example.com"}).is_null());
  CHECK_FALSE(exclusion_patch(binding, {"RayJob.v1.ray.io"}).is_null());
  CHECK_FALSE(unqueued_kinds_policy("batch", UnqueuedKinds::kWarn).at(1)["spec"].contains("matchResources"));
}

TEST_CASE("the admission policy says what muster review says") {
  const std::string expression = unqueued_kinds_policy("batch", UnqueuedKinds::kWarn)
                                     .at(0)
                                     .at("/spec/validations/0/messageExpression"_json_pointer);
  std::string said = unqueued_sentence("RayJob");
  said.replace(said.find("RayJob"), 6, "' + request.kind.kind + '");
  CHECK(expression == "request.kind.kind == 'CronJob' ? '" + std::string(kCronJobSentence) + "' : '" + said + "'");
}

}  // namespace unqueued_policy_test
