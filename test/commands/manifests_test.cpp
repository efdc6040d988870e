#include "commands/manifests.h"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <sstream>

namespace manifests_test {

using namespace muster;
using namespace muster::commands;

namespace {

struct Printed {
  int code;
  std::string out, err;
};

Printed print(const ManifestsOptions& options) {
  std::ostringstream out, err;
  const int code = print_manifests(options, out, err);
  return {code, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("manifests command: options change what is printed") {
  ManifestsOptions options;
  options.only = "webhooks";
  options.webhook_url = "https://10.0.0.5:9443";
  const Printed webhooks = print(options);
  CHECK(webhooks.code == 0);
  CHECK(has(webhooks.out, "url: https://10.0.0.5:9443/mutate"));
  CHECK_FALSE(has(webhooks.out, "service:"));

  options = {};
  options.own_namespace = "batch";
  options.image = "registry.example/muster@sha256:00";
  const Printed all = print(options);
  CHECK(all.code == 0);
  CHECK(has(all.out, "image: registry.example/muster@sha256:00"));
  CHECK(has(all.out, "namespace: batch"));
  CHECK_FALSE(has(all.out, "namespace: muster-system"));

  options = {};
  options.only = "crds";
  CHECK(has(print(options).out, "served: false"));
  options.serves_v1beta1 = true;
  CHECK_FALSE(has(print(options).out, "served: false"));
}

TEST_CASE("manifests command: the flag of the visibility API brings what it needs and is handed on to the Deployment") {
  ManifestsOptions options;
  const Printed usual = print(options);
  CHECK_FALSE(has(usual.out, "APIService"));
  CHECK_FALSE(has(usual.out, "aggregated-visibility"));
  options.given = {{"aggregatedVisibility", {"true"}}};
  const Printed all = print(options);
  CHECK(all.code == 0);
  CHECK(has(all.out, "name: v1beta2.visibility.kueue.x-k8s.io"));
  CHECK(has(all.out, "- --aggregated-visibility\n"));
  CHECK(has(all.out, "name: muster-authentication-reader"));
  CHECK(has(all.out, "containerPort: 8082"));
}

TEST_CASE("manifests command: a mode narrows the rights and is what the Deployment runs in") {
  ManifestsOptions options;
  const std::string usual = print(options).out;
  CHECK(has(usual, "pods/status"));
  CHECK(has(usual, "resourceNames:\n  - 6d4f6a47.jobset.x-k8s.io"));
  CHECK(has(usual, "- muster-webhook-cert"));
  CHECK_FALSE(has(usual, "--jobset-controller"));
  options.given = {{"jobSetController", {"external"}}, {"groupScheduling", {"false"}}};
  const std::string narrow = print(options).out;
  CHECK(has(narrow, "- --jobset-controller=external\n"));
  CHECK(has(narrow, "- --no-group-scheduling\n"));
  options.only = "rbac";
  CHECK_FALSE(has(print(options).out, "pods/status"));
  options.only = "all";
  CHECK_FALSE(has(narrow, "6d4f6a47"));
  options.given = {{"jobSetController", {"both"}}};
  CHECK(print(options).code == 2);
  CHECK(has(print(options).err, "--jobset-controller: must be auto"));

  CLI::App app;
  ManifestsOptions parsed;
  add_manifests(app, parsed);
  app.parse("manifests --jobset-controller native --no-group-scheduling");
  CHECK(parsed.given == GivenSettings{{"groupScheduling", {"false"}}, {"jobSetController", {"native"}}});
}

TEST_CASE("manifests command: the admission policy warns or denies as the flag or the file says") {
  ManifestsOptions options;
  options.only = "policies";
  CHECK(has(print(options).out, "- Warn\n"));
  options.given = {{"unqueuedKinds", {"Deny"}}};
  CHECK(has(print(options).out, "- Deny\n"));
  CHECK_FALSE(has(print(options).out, "- Warn\n"));
  options.only = "all";
  const std::string all = print(options).out;
  CHECK(has(all, "- --unqueued-kinds=Deny\n"));
  CHECK(has(all,
            "  - muster-unqueued-kinds\n  resources:\n  - validatingadmissionpolicybindings\n  verbs:\n  - get\n  - "
            "patch\n"));
  options.given = {{"unqueuedKinds", {"Refuse"}}};
  CHECK(print(options).code == 2);
  CHECK(has(print(options).err, "--unqueued-kinds: must be Warn or Deny"));

  CLI::App app;
  ManifestsOptions parsed;
  add_manifests(app, parsed);
  app.parse("manifests --unqueued-kinds Deny");
  CHECK(parsed.given == GivenSettings{{"unqueuedKinds", {"Deny"}}});
}

TEST_CASE("manifests command: the tables of the chart are the same for all, so no option goes with them") {
  ManifestsOptions options;
  options.only = "chart";
  const Printed tables = print(options);
  CHECK(tables.code == 0);
  CHECK(has(tables.out, "clusterRules:"));
  options.own_namespace = "batch";
  CHECK(print(options).code == 2);
  CHECK(has(print(options).err, "--only chart prints what every installation by Helm has in common"));
}

TEST_CASE("manifests command: v1beta1 is served if the flag says so") {
  for (const bool wanted : {true, false}) {
    CLI::App app;
    ManifestsOptions options;
    add_manifests(app, options);
    app.parse(wanted ? "manifests --serve-v1beta1" : "manifests --no-v1beta1");
    CHECK(options.serves_v1beta1 == wanted);
  }
  CHECK_FALSE(ManifestsOptions{}.serves_v1beta1);
}

TEST_CASE("manifests command: what cannot be used ends with 2 and a reason") {
  ManifestsOptions options;
  options.only = "everything";
  CHECK(print(options).code == 2);
  CHECK(has(print(options).err, "--only: "));
  options = {};
  options.config_file = "/none.yaml";
  CHECK(print(options).code == 2);
  CHECK(has(print(options).err, "/none.yaml"));
}

}  // namespace manifests_test
