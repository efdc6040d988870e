#include "manifests/in_place_agents.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "manifests/catalog.h"

namespace in_place_agents_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

// What it does is tested on a real API server: TestForgedAttemptsOfInPlaceRestarts.
TEST_CASE("in-place agents: the policy is about one account, one annotation and the pod of the token") {
  const std::vector<json> objects = in_place_agent_policy();
  REQUIRE(objects.size() == 2);
  const json& policy = objects[0]["spec"];
  CHECK(policy["failurePolicy"] == "Fail");
  CHECK(
      policy["matchConstraints"]["resourceRules"].dump() ==
      R"([{"apiGroups":[""],"apiVersions":["*"],"operations":["UPDATE"],"resources":["pods"],"scope":"Namespaced"}])");
  REQUIRE(policy["matchConditions"].size() == 1);
  CHECK(policy["matchConditions"][0]["expression"] ==
        "request.userInfo.username.matches('^system:serviceaccount:[^:]+:jobset-in-place-restart$')");
  REQUIRE(policy["validations"].size() == 2);
  CHECK(policy["validations"][0]["expression"].get<std::string>().find(
            "['authentication.kubernetes.io/pod-uid'].exists(u, u == oldObject.metadata.uid)") != std::string::npos);
  CHECK(policy["validations"][1]["expression"].get<std::string>().find("object.spec == oldObject.spec") !=
        std::string::npos);
  CHECK(objects[1]["spec"].dump() == R"({"policyName":"muster-in-place-restart-agents","validationActions":["Deny"]})");
}

TEST_CASE("in-place agents: policy and role are part of the manifests") {
  std::string policies, roles;
  for (const json& object : manifests::manifests(ManifestSet::kPolicies, {}))
    policies += object["metadata"]["name"].get<std::string>() + " ";
  for (const json& object : manifests::manifests(ManifestSet::kRbac, {}))
    roles += object["metadata"]["name"].get<std::string>() + " ";
  CHECK(policies.find("muster-in-place-restart-agents") != std::string::npos);
  CHECK(roles.find("muster-in-place-restart-agent ") != std::string::npos);
}

}  // namespace in_place_agents_test
