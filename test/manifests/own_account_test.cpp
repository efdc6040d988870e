#include "manifests/own_account.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "manifests/catalog.h"
#include "manifests/rbac.h"
#include "test/support/vectors.h"

namespace own_account_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

json policy() {
  return own_account_policy("batch-gate").at(0).at("spec");
}

bool holds(const json& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Whether the policy sees this right used.
bool is_narrowed(const std::string& group, const std::string& resource, const std::string& verb) {
  const std::string operation = verb == "create" ? "CREATE" : verb == "delete" ? "DELETE" : "UPDATE";
  const json spec = policy();
  for (const json& rule : spec.at("matchConstraints").at("resourceRules")) {
    if (holds(rule.at("apiGroups"), group) && holds(rule.at("resources"), resource) &&
        holds(rule.at("operations"), operation))
      return true;
  }
  return false;
}

// Everything that muster can be given.
RightsOptions every_right() {
  RightsOptions options;
  for (const jobs::JobKind* kind : jobs::job_kinds()) options.frameworks.emplace(kind->framework);
  options.keeps_policy = options.writes_cohorts = options.aggregated_visibility = options.reads_events =
      options.watches_nodes = true;
  return options;
}

}  // namespace

// What it does is tested on a real API server: TestATokenOfMusterMakesNobodyAnAdministrator.
TEST_CASE("own account: the policy is about muster's account and is part of the manifests") {
  CHECK(policy().at("failurePolicy") == "Fail");
  REQUIRE(policy().at("matchConditions").size() == 1);
  CHECK(policy().at("matchConditions")[0].at("expression") ==
        "request.userInfo.username == 'system:serviceaccount:batch-gate:muster'");
  CHECK(own_account_policy("batch-gate").at(1).at("spec").dump() ==
        R"({"policyName":"muster-own-account","validationActions":["Deny"]})");
  std::string names;
  for (const json& object : manifests::manifests(ManifestSet::kPolicies, {}))
    names += object["metadata"]["name"].get<std::string>() + " ";
  CHECK(names.find("muster-own-account") != std::string::npos);
}

TEST_CASE("own account: each cluster-wide write has a rule that narrows it, or a row in the threat model") {
  const std::string page = test::read_source_file("docs/threat-model.md");
  std::set<std::string> narrowed;
  for (const json& object : rbac_objects("muster-system", every_right())) {
    if (object.at("kind") != "ClusterRole" || object.at("metadata").at("name") != "muster") continue;
    for (const json& rule : object.at("rules")) {
      for (const std::string verb : rule.at("verbs")) {
        if (verb == "get" || verb == "list" || verb == "watch") continue;
        for (const std::string group : rule.at("apiGroups")) {
          for (const std::string resource : rule.at("resources")) {
            const std::string what = verb + " " + (group.empty() ? "" : group + "/") + resource;
            if (is_narrowed(group, resource, verb)) {
              narrowed.insert(what);
              continue;
            }
            // The page names those of described kinds together.
            const auto kinds = described_kinds();
            const bool described = std::any_of(kinds.begin(), kinds.end(), [&](const KindDescriptionPtr& kind) {
              return verb != "delete" && kind->group == group && resource.starts_with(kind->plural);
            });
            CHECK_MESSAGE((described || page.find("`" + resource + "`") != std::string::npos), what);
          }
        }
      }
    }
  }
  std::set<std::string> expected = {"create configmaps",
                                    "patch configmaps",
                                    "delete configmaps",
                                    "create services",
                                    "create persistentvolumeclaims",
                                    "patch pods",
                                    "delete pods",
                                    "patch pods/status",
                                    "create batch/jobs",
                                    "delete batch/jobs",
                                    "delete jobset.x-k8s.io/jobsets",
                                    "patch admissionregistration.k8s.io/mutatingwebhookconfigurations",
                                    "patch admissionregistration.k8s.io/validatingwebhookconfigurations"};
  for (const KindDescriptionPtr& kind : described_kinds())
    expected.insert("delete " + kind->group + "/" + kind->plural);
  CHECK(narrowed == expected);
}

TEST_CASE("own account: no group of Kubernetes comes to a webhook of muster but the kinds of its rules") {
  std::string expression;
  const json spec = policy();
  for (const json& rule : spec.at("validations")) {
    const std::string text = rule.at("expression");
    if (text.find("'validatingwebhookconfigurations'") != std::string::npos) expression = text;
  }
  for (const std::string part :
       {"(g.contains('.') && !g.endsWith('.k8s.io'))", "(g == 'batch' && r in ['jobs'])",
        "(g == 'sparkoperator.k8s.io' && r in ['sparkapplications'])", "'configmaps'", "'pods'"})
    CHECK_MESSAGE(expression.find(part) != std::string::npos, part);
  for (const std::string part : {"secrets", "'*'", "rbac"})
    CHECK_MESSAGE(expression.find(part) == std::string::npos, part);
}

}  // namespace own_account_test
