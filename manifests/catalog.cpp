#include "manifests/catalog.h"

#include <array>
#include <cassert>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "manifests/api_services.h"
#include "manifests/chart.h"
#include "manifests/embedded.h"
#include "manifests/in_place_agents.h"
#include "manifests/lean_workloads.h"
#include "manifests/own_account.h"
#include "manifests/reader_sessions.h"
#include "manifests/user_roles.h"

namespace muster::manifests {
namespace {

using nlohmann::json;
using Documents = std::vector<json>;

struct SetName {
  std::string_view text;
  ManifestSet set;
};
constexpr std::array kSetNames = {
    SetName{"all", ManifestSet::kAll},
    SetName{"crds", ManifestSet::kCrds},
    SetName{"rbac", ManifestSet::kRbac},
    SetName{"deployment", ManifestSet::kDeployment},
    SetName{"policies", ManifestSet::kPolicies},
    SetName{"webhooks", ManifestSet::kWebhooks},
    SetName{"api-services", ManifestSet::kApiServices},
    SetName{"samples", ManifestSet::kSamples},
    SetName{"chart", ManifestSet::kChart},
    SetName{"lean-workloads", ManifestSet::kLeanWorkloads},
    SetName{"visibility-flow-control", ManifestSet::kVisibilityFlowControl},
};

// The embedded files are part of the program: one that cannot be read is a broken build.
Documents read_embedded(std::string_view path) {
  for (const EmbeddedFile& file : manifests_files()) {
    if (file.path != path) continue;
    auto read = read_yaml(file.text);
    assert(read.ok());
    Documents documents;
    for (YamlDocument& document : *read) documents.push_back(std::move(document.value));
    return documents;
  }
  assert(false && "no such embedded file");
  return {};
}

Documents read_all(std::initializer_list<std::string_view> paths) {
  Documents all;
  for (std::string_view path : paths) {
    for (json& document : read_embedded(path)) all.push_back(std::move(document));
  }
  return all;
}

// The kinds of Kueue's core API, whose definitions are muster's, and muster's own.
Documents own_definitions() {
  return read_all({"crds/admissioncheck.yaml", "crds/clusterqueue.yaml", "crds/cohort.yaml", "crds/localqueue.yaml",
                   "crds/readersession.yaml", "crds/resourceflavor.yaml", "crds/workload.yaml",
                   "crds/workloadpriorityclass.yaml"});
}

Documents samples(const ManifestOptions& options) {
  Documents all;
  for (const EmbeddedFile& file : manifests_files()) {
    if (!file.path.starts_with("samples/")) continue;
    for (json& document : read_embedded(file.path)) {
      const bool older = string_at(document, {"apiVersion"}) == "kueue.x-k8s.io/v1beta1";
      if (!older || options.serves_v1beta1) all.push_back(std::move(document));
    }
  }
  return all;
}

std::string default_image() {
  const json image = read_embedded("kustomization.yaml").front().at("images").at(0);
  return image.at("name").get<std::string>() + ":" + image.at("newTag").get<std::string>();
}

// Stored objects of that version can be read all the same.
void stop_serving_v1beta1(json& definition) {
  if (string_at(definition, {"spec", "group"}) != "kueue.x-k8s.io") return;
  for (json& version : definition["spec"]["versions"]) {
    if (string_at(version, {"name"}) == "v1beta1") version["served"] = false;
  }
}

// The listener is open to the API server through the Service of the webhooks, whose name is in muster's certificate.
void open_visibility_port(json& document, int port) {
  const std::string_view kind = string_at(document, {"kind"});
  if (kind == "Service") {
    document["spec"]["ports"].push_back(
        {{"name", kVisibilityPortName}, {"port", port}, {"targetPort", kVisibilityPortName}});
  } else if (kind == "NetworkPolicy") {
    document["spec"]["ingress"].push_back({{"ports", {{{"port", kVisibilityPortName}, {"protocol", "TCP"}}}}});
  } else if (kind == "Deployment") {
    document["spec"]["template"]["spec"]["containers"][0]["ports"].push_back(
        {{"name", kVisibilityPortName}, {"containerPort", port}, {"protocol", "TCP"}});
  }
}

void fit(json& document, const ManifestOptions& options) {
  const std::string& ns = options.registration.own_namespace;
  json& metadata = document["metadata"];
  const std::string_view kind = string_at(document, {"kind"});
  const std::string_view name = string_at(metadata, {"name"});
  if (kind == "Namespace") metadata["name"] = ns;
  if (metadata.contains("namespace")) metadata["namespace"] = ns;
  const bool other_service = kind == "Service" && name != kWebhookServiceName;
  if (options.registration.visibility_port > 0 && !other_service)
    open_visibility_port(document, options.registration.visibility_port);
  if (kind == "Service" && !other_service) metadata["name"] = options.registration.service;
  if (kind == "ConfigMap" && !options.configuration.empty()) document["data"]["config.yaml"] = options.configuration;
  if (kind == "CustomResourceDefinition" && find_path(document, {"spec", "conversion", "webhook"})) {
    document["spec"]["conversion"]["webhook"]["clientConfig"] = conversion_client_config(options.registration, "");
  }
  if (kind == "CustomResourceDefinition" && !options.serves_v1beta1) stop_serving_v1beta1(document);
  if (kind == "Deployment") {
    json& container = document["spec"]["template"]["spec"]["containers"][0];
    container["image"] = options.image.empty() ? default_image() : options.image;
    for (const std::string& argument : options.arguments) container["args"].push_back(argument);
  }
}

Documents fitted(Documents documents, const ManifestOptions& options) {
  for (json& document : documents) fit(document, options);
  return documents;
}

Documents deployment(const ManifestOptions& options) {
  return fitted(read_all({"namespace.yaml", "config.yaml", "service.yaml", "network-policy.yaml", "deployment.yaml"}),
                options);
}

Documents rights(const ManifestOptions& options) {
  Documents all = rbac_objects(options.registration.own_namespace, options.rights);
  for (json& role : user_roles()) all.push_back(std::move(role));
  return all;
}

Documents policies(const ManifestOptions& options) {
  Documents all =
      unqueued_kinds_policy(options.registration.own_namespace, options.unqueued_kinds, options.external_frameworks);
  for (json& document : in_place_agent_policy()) all.push_back(std::move(document));
  for (json& document : own_account_policy(options.registration.own_namespace)) all.push_back(std::move(document));
  for (json& document : reader_session_policy()) all.push_back(std::move(document));
  return all;
}

// Until muster has found out who runs JobSets, upstream's controller as its manifests install it
// makes Jobs without asking: it must not depend on a muster that is not there yet.
Documents webhooks(const ManifestOptions& options) {
  WebhookRegistration registration = options.registration;
  if (!registration.every_jobset && registration.jobset_controller.empty())
    registration.jobset_controller =
        "system:serviceaccount:" + std::string(kForeignJobSetNamespace) + ":" + std::string(kForeignJobSetAccount);
  return {webhook_configuration(WebhookKind::kMutating, registration),
          webhook_configuration(WebhookKind::kValidating, registration)};
}

}  // namespace

Result<ManifestSet> parse_manifest_set(std::string_view text) {
  std::string known;
  for (const SetName& name : kSetNames) {
    if (name.text == text) return name.set;
    known.append(known.empty() ? "" : ", ").append(name.text);
  }
  return fail("\"" + std::string(text) + "\" is no part of the manifests; there are " + known);
}

Documents manifests(ManifestSet set, const ManifestOptions& options) {
  switch (set) {
    case ManifestSet::kCrds: {
      Documents definitions = own_definitions();
      for (json& document : read_embedded("crds/jobset.yaml")) definitions.push_back(std::move(document));
      return fitted(std::move(definitions), options);
    }
    case ManifestSet::kRbac:
      return rights(options);
    case ManifestSet::kDeployment:
      return deployment(options);
    case ManifestSet::kPolicies:
      return policies(options);
    case ManifestSet::kWebhooks:
      return webhooks(options);
    case ManifestSet::kApiServices:
      return api_services(options.registration);
    case ManifestSet::kSamples:
      return samples(options);
    case ManifestSet::kLeanWorkloads:
      return lean_workloads_policy(options.registration.own_namespace);
    case ManifestSet::kVisibilityFlowControl:
      return read_embedded("visibility-flow-control.yaml");
    case ManifestSet::kChart:
      return {chart_tables()};
    case ManifestSet::kAll:
      break;
  }
  // The namespace first, since others live in it; the webhooks last, so that nothing
  // is asked of muster before it is started. An APIService without an answer holds up the deletion of
  // namespaces until muster is there.
  Documents all = deployment(options);
  Documents before = fitted(own_definitions(), options);
  for (json& document : rights(options)) before.push_back(std::move(document));
  all.insert(all.begin() + 1, before.begin(), before.end());
  for (json& document : policies(options)) all.push_back(std::move(document));
  for (json& document : webhooks(options)) all.push_back(std::move(document));
  for (json& document : api_services(options.registration)) all.push_back(std::move(document));
  return all;
}

std::string print_yaml(const Documents& documents) {
  std::string text;
  for (const json& document : documents) {
    if (!text.empty()) text += "---\n";
    text += write_yaml(document);
  }
  return text;
}

}  // namespace muster::manifests
