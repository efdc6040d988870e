#include "manifests/catalog.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/config/configuration.h"
#include "api/meta/owner_reference.h"
#include "kinds/watched_kinds.h"
#include "manifests/embedded.h"
#include "manifests/rbac.h"
#include "test/support/vectors.h"

namespace catalog_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;
using Documents = std::vector<json>;

namespace {

Documents read(const std::string& text) {
  const auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  Documents values;
  for (const YamlDocument& document : *documents) values.push_back(document.value);
  return values;
}

Documents on_disk(const std::string& path) {
  return read(test::read_source_file("manifests/" + path));
}

std::string id(const json& object) {
  return std::string(string_at(object, {"kind"})) + " " + std::string(string_at(object, {"metadata", "namespace"})) +
         "/" + std::string(string_at(object, {"metadata", "name"}));
}

const json& find(const Documents& documents, const std::string& wanted) {
  static const json kNone;
  for (const json& document : documents) {
    if (id(document) == wanted) return document;
  }
  FAIL_CHECK("there is no ", wanted);
  return kNone;
}

// verbs that `rules` allow on a resource, with the names they are limited to.
std::set<std::string> verbs_on(const json& rules, const std::string& group, const std::string& resource) {
  std::set<std::string> verbs;
  for (const json& rule : rules) {
    const auto has = [&](const char* key, const std::string& value) {
      return rule.contains(key) && std::find(rule[key].begin(), rule[key].end(), value) != rule[key].end();
    };
    if (!has("apiGroups", group) || !has("resources", resource)) continue;
    for (const json& verb : rule["verbs"]) {
      const std::string only = rule.contains("resourceNames") ? "@" + rule["resourceNames"].dump() : "";
      verbs.insert(verb.get<std::string>() + only);
    }
  }
  return verbs;
}

}  // namespace

TEST_CASE("v1beta1 is served where an option says so, and v1beta2 is stored") {
  for (const bool wanted : {true, false}) {
    for (const ManifestSet set : {ManifestSet::kCrds, ManifestSet::kAll}) {
      ManifestOptions options;
      options.serves_v1beta1 = wanted;
      size_t served = 0;
      for (const json& definition : manifests::manifests(set, options)) {
        if (string_at(definition, {"spec", "group"}) != "kueue.x-k8s.io") continue;
        for (const json& version : definition.at("spec").at("versions")) {
          const bool old = version.at("name") == "v1beta1";
          served += old && version.at("served");
          CHECK(version.at("storage") == !old);
          if (!old) CHECK(version.at("served") == true);
        }
      }
      CHECK(served == (wanted ? 7 : 0));
    }
  }
}

TEST_CASE("the files made from tables equal what the binary prints") {
  for (const std::string name : {"webhooks", "rbac", "policies", "lean-workloads"}) {
    INFO("if the change is wanted: build/muster manifests --only ", name, " > manifests/", name, ".yaml");
    CHECK(test::read_source_file("manifests/" + name + ".yaml") ==
          print_yaml(manifests::manifests(*parse_manifest_set(name), {})));
  }
}

TEST_CASE("requests for the visibility API have a priority level of their FlowSchema, and no other requests have it") {
  const Documents documents = manifests::manifests(*parse_manifest_set("visibility-flow-control"), {});
  REQUIRE(documents.size() == 2);
  const json &level = documents[0], &schema = documents[1];
  CHECK(schema["spec"]["priorityLevelConfiguration"]["name"] == level["metadata"]["name"]);
  REQUIRE(schema["spec"]["rules"].size() == 1);
  CHECK(schema["spec"]["rules"][0]["resourceRules"][0]["apiGroups"] == json::array({"visibility.kueue.x-k8s.io"}));
  for (const json& document : manifests::manifests(ManifestSet::kAll, {})) CHECK(document["kind"] != "FlowSchema");
}

TEST_CASE("the embedded files are those on disk") {
  for (const EmbeddedFile& file : manifests_files()) {
    INFO(std::string(file.path));
    CHECK(test::read_source_file("manifests/" + std::string(file.path)) == file.text);
  }
}

TEST_CASE("all is what the kustomization applies") {
  std::multiset<std::string> wanted;
  const json kustomization = on_disk("kustomization.yaml").at(0);
  for (const json& resource : kustomization.at("resources")) {
    for (const json& document : on_disk(resource)) wanted.insert(id(document));
  }
  std::multiset<std::string> printed;
  const Documents all = manifests::manifests(ManifestSet::kAll, {});
  for (const json& document : all) printed.insert(id(document));
  CHECK(printed == wanted);
  CHECK(id(all.front()) == "Namespace /muster-system");
  CHECK(id(all.back()) == "ValidatingWebhookConfiguration /muster");
  CHECK_FALSE(printed.contains("CustomResourceDefinition /jobsets.jobset.x-k8s.io"));
}

TEST_CASE("the samples are those of the samples folder and muster knows their kinds") {
  std::multiset<std::string> wanted;
  const json kustomization = on_disk("samples/kustomization.yaml").at(0);
  for (const json& file : kustomization.at("resources")) {
    for (const json& document : on_disk("samples/" + file.get<std::string>())) wanted.insert(id(document));
  }
  std::multiset<std::string> printed;
  for (const json& document : manifests::manifests(ManifestSet::kSamples, {})) {
    printed.insert(id(document));
    const auto kinds = watched_kinds();
    CHECK(std::any_of(kinds.begin(), kinds.end(), [&](const WatchedKind& kind) {
      return kind.type->kind == string_at(document, {"kind"}) &&
             kind.type->group == group_of(string_at(document, {"apiVersion"}));
    }));
  }
  CHECK(printed == wanted);
  CHECK(printed.size() >= 6);
}

TEST_CASE("namespace image names and configuration are fitted in") {
  ManifestOptions options;
  options.registration.own_namespace = "batch";
  options.registration.service = "gate";
  options.rights.secret = "gate-cert";
  options.image = "registry.example/muster:9";
  options.configuration = "kind: Configuration\n";
  const Documents all = manifests::manifests(ManifestSet::kAll, options);
  for (const json& document : all) {
    INFO(id(document));
    CHECK(document.dump().find("muster-system") == std::string::npos);
  }
  CHECK(find(all, "Deployment batch/muster").at("/spec/template/spec/containers/0/image"_json_pointer) ==
        "registry.example/muster:9");
  CHECK(find(all, "ConfigMap batch/muster-config").at("data").at("config.yaml") == "kind: Configuration\n");
  CHECK(find(all, "Service batch/gate").at("spec").at("ports").at(0).at("port") == 443);
  CHECK(verbs_on(find(all, "Role batch/muster").at("rules"), "", "secrets").contains("update@[\"gate-cert\"]"));
  CHECK(find(all, "ClusterRoleBinding /muster").at("subjects").at(0).at("namespace") == "batch");
  CHECK(find(all, "MutatingWebhookConfiguration /muster").at("/webhooks/0/clientConfig/service/name"_json_pointer) ==
        "gate");
}

TEST_CASE("arguments of serve reach the Deployment") {
  ManifestOptions options;
  options.arguments = {"--jobset-controller=native"};
  const Documents all = manifests::manifests(ManifestSet::kDeployment, options);
  const json& args =
      find(all, "Deployment muster-system/muster").at("/spec/template/spec/containers/0/args"_json_pointer);
  CHECK(args.front() == "serve");
  CHECK(args.back() == "--jobset-controller=native");
}

TEST_CASE("the default image is the release that the build is") {
  const Documents all = manifests::manifests(ManifestSet::kDeployment, {});
  const std::string image =
      find(all, "Deployment muster-system/muster").at("/spec/template/spec/containers/0/image"_json_pointer);
  const std::string cmake = test::read_source_file("CMakeLists.txt");
  CHECK(image.starts_with("muster:"));
  CHECK(cmake.find("project(muster VERSION " + image.substr(7) + " ") != std::string::npos);
}

TEST_CASE("the shipped configuration is read without complaint and names the shipped objects") {
  const Documents config = manifests::manifests(ManifestSet::kDeployment, {});
  const std::string text = find(config, "ConfigMap muster-system/muster-config").at("data").at("config.yaml");
  const json kueue = read(text).at(0);
  CHECK(string_at(kueue, {"internalCertManagement", "webhookServiceName"}) == kWebhookServiceName);
  CHECK(string_at(kueue, {"internalCertManagement", "webhookSecretName"}) == kCertificateSecretName);
  const auto loaded = load_configuration(text);
  REQUIRE(loaded.ok());
}

TEST_CASE("the pods pass the restricted Pod Security level and spread") {
  const json pod = find(manifests::manifests(ManifestSet::kDeployment, {}), "Deployment muster-system/muster")
                       .at("/spec/template/spec"_json_pointer);
  CHECK(pod.at("securityContext").at("runAsNonRoot") == true);
  CHECK(pod.at("securityContext").at("runAsUser").get<int>() > 0);
  CHECK(pod.at("securityContext").at("seccompProfile").at("type") == "RuntimeDefault");
  CHECK_FALSE(pod.at("topologySpreadConstraints").empty());
  for (const json& container : pod.at("containers")) {
    const json& security = container.at("securityContext");
    CHECK(security.at("allowPrivilegeEscalation") == false);
    CHECK(security.at("readOnlyRootFilesystem") == true);
    CHECK(security.at("capabilities") == json{{"drop", {"ALL"}}});
    CHECK(container.contains("readinessProbe"));
    CHECK(container.contains("livenessProbe"));
    CHECK(container.at("resources").contains("requests"));
  }
}

TEST_CASE("every selector of muster's objects selects its pods and every named port is one of theirs") {
  const Documents all = manifests::manifests(ManifestSet::kDeployment, {});
  const json pod = find(all, "Deployment muster-system/muster").at("/spec/template"_json_pointer);
  std::set<std::string> ports;
  for (const json& port : pod.at("/spec/containers/0/ports"_json_pointer)) ports.insert(port.at("name"));
  for (const json& document : all) {
    INFO(id(document));
    const std::string_view kind = string_at(document, {"kind"});
    if (kind == "Service") {
      CHECK(document.at("/spec/selector"_json_pointer) == pod.at("/metadata/labels"_json_pointer));
      CHECK(ports.contains(document.at("/spec/ports/0/targetPort"_json_pointer)));
    } else if (kind == "PodDisruptionBudget") {
      CHECK(document.at("/spec/selector/matchLabels"_json_pointer) == pod.at("/metadata/labels"_json_pointer));
      CHECK(document.at("/spec/minAvailable"_json_pointer) == 1);
    } else if (kind == "NetworkPolicy") {
      CHECK(document.at("/spec/podSelector/matchLabels"_json_pointer) == pod.at("/metadata/labels"_json_pointer));
      for (const json& rule : document.at("/spec/ingress"_json_pointer))
        CHECK(ports.contains(rule.at("ports").at(0).at("port")));
    }
  }
}

TEST_CASE(
    "the aggregated visibility API has APIServices, a port and rights where it is asked for, and none elsewhere") {
  const Documents usual = manifests::manifests(ManifestSet::kAll, {});
  for (const json& document : usual) CHECK(document.at("kind") != "APIService");
  CHECK(manifests::manifests(ManifestSet::kApiServices, {}).empty());

  ManifestOptions options;
  options.registration.own_namespace = "batch";
  options.registration.service = "gate";
  options.registration.visibility_port = 9082;
  options.rights.aggregated_visibility = true;
  const Documents all = manifests::manifests(ManifestSet::kAll, options);
  for (const char* version : {"v1beta1", "v1beta2"}) {
    const json& service = find(all, "APIService /" + std::string(version) + ".visibility.kueue.x-k8s.io");
    CHECK(service.at("spec") == json{{"group", "visibility.kueue.x-k8s.io"},
                                     {"version", version},
                                     {"groupPriorityMinimum", 100},
                                     {"versionPriority", 100},
                                     {"service", {{"namespace", "batch"}, {"name", "gate"}, {"port", 9082}}}});
    CHECK(service.at("metadata").at("labels").at("app.kubernetes.io/name") == "muster");
  }
  CHECK(manifests::manifests(ManifestSet::kApiServices, options).size() == 2);
  // Last, since until muster answers they hold up the deletion of namespaces.
  CHECK(all.back().at("kind") == "APIService");
  const json port = {{"name", "visibility"}, {"port", 9082}, {"targetPort", "visibility"}};
  CHECK(find(all, "Service batch/gate").at("spec").at("ports").back() == port);
  CHECK(find(all, "Service batch/muster-metrics").at("spec").at("ports").size() == 1);
  CHECK(find(all, "Service batch/muster-conversion-service").at("spec").at("ports").size() == 1);
  CHECK(find(all, "Deployment batch/muster").at("/spec/template/spec/containers/0/ports"_json_pointer).back() ==
        json{{"name", "visibility"}, {"containerPort", 9082}, {"protocol", "TCP"}});
  CHECK(find(all, "NetworkPolicy batch/muster").at("spec").at("ingress").back() ==
        json{{"ports", {{{"port", "visibility"}, {"protocol", "TCP"}}}}});
  const json& binding = find(all, "RoleBinding kube-system/muster-authentication-reader");
  CHECK(binding.at("roleRef").at("name") == "extension-apiserver-authentication-reader");
  CHECK(binding.at("subjects").at(0).at("namespace") == "batch");
  CHECK(verbs_on(find(all, "ClusterRole /muster").at("rules"), "apiregistration.k8s.io", "apiservices").size() == 3);
  CHECK(all.size() == usual.size() + 3);
}

TEST_CASE("muster explain finds the Service by the name that its Role allows to be proxied to") {
  const json service = find(manifests::manifests(ManifestSet::kDeployment, {}), "Service muster-system/muster-metrics");
  CHECK(service.at("metadata").at("name") == kMetricsServiceName);
  CHECK(service.at("/spec/ports/0/name"_json_pointer) == kMetricsPortName);
  const Documents objects = rbac_objects("muster-system", {});
  const json& viewer = find(objects, "Role muster-system/" + std::string(kExplainViewerRoleName)).at("rules");
  CHECK(verbs_on(viewer, "", "services/proxy") == std::set<std::string>{"get@[\"https:muster-metrics:metrics\"]"});
}

TEST_CASE("the parts of the manifests have names") {
  for (const char* name : {"all", "crds", "rbac", "deployment", "policies", "webhooks", "samples", "chart"}) {
    const auto set = parse_manifest_set(name);
    REQUIRE(set.ok());
    CHECK_FALSE(manifests::manifests(*set, {}).empty());
  }
  const auto wrong = parse_manifest_set("crd");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message.find("all, crds, rbac, deployment, policies, webhooks, api-services, samples, chart") !=
        std::string::npos);
}

}  // namespace catalog_test
