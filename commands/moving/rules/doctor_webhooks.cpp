// Webhooks, certificates and definitions of an installed muster.
#include <algorithm>

#include "api/codec/json.h"
#include "base/encoding.h"
#include "certs/authority.h"
#include "commands/moving/rules/definitions.h"
#include "commands/moving/rules/doctor.h"
#include "manifests/schema.h"

namespace muster::commands {
namespace {

using nlohmann::json;

struct ServingCertificate {
  std::string secret;  // its name
  std::string chain;
};

// The certificate that muster's replicas share; empty: it is not in a Secret, or could not be read.
ServingCertificate serving_certificate(const DoctorContext& context) {
  for (const json* secret : context.dump.of_kind("", "Secret")) {
    if (string_at(*secret, {"metadata", "namespace"}) != context.facts.muster_namespace) continue;
    const auto chain = base64_decode(string_at(*secret, {"data", "tls.crt"}));
    if (chain && !chain->empty() && label(*secret, manifests::kAppNameLabel) == manifests::kAppName)
      return {std::string(string_at(*secret, {"metadata", "name"})), *chain};
  }
  return {};
}

bool has_endpoints(const ClusterDump& dump, std::string_view ns, std::string_view service) {
  for (const json* slice : dump.of_kind("discovery.k8s.io", "EndpointSlice")) {
    if (string_at(*slice, {"metadata", "namespace"}) != ns || label(*slice, "kubernetes.io/service-name") != service)
      continue;
    for (const json& endpoint : array_at(*slice, {"endpoints"})) {
      const json* ready = find_path(endpoint, {"conditions", "ready"});
      if (ready == nullptr || ready->is_null() || *ready == true) return true;
    }
  }
  return false;
}

// A way to muster: of a webhook, or of a conversion.
void look_at_client(const DoctorContext& context, const std::string& object, const json& config,
                    const std::string& chain) {
  const std::string_view ns = string_at(config, {"service", "namespace"}),
                         service = string_at(config, {"service", "name"});
  if (!service.empty() && !has_endpoints(context.dump, ns, service))
    context.add(Severity::kBlocker, "webhook-without-endpoints", {object},
                "its Service " + std::string(ns) + "/" + std::string(service) +
                    " has no ready endpoint: the requests that it is for fail",
                "kubectl -n " + std::string(ns) + " get pods, and kubectl -n " + std::string(ns) +
                    " get endpointslices -l kubernetes.io/service-name=" + std::string(service));
  const auto bundle = base64_decode(string_at(config, {"caBundle"}));
  const std::string restart =
      context.kubectl() + "rollout restart deployment/muster; a tool that writes caBundle back must leave it alone";
  if (!bundle || bundle->empty())
    return context.add(Severity::kBlocker, "ca-missing", {object},
                       "it has no caBundle: the API server cannot trust muster, and the requests that it is for fail",
                       restart);
  if (chain.empty()) return;
  if (const auto verified = certs::verify_chain(chain, *bundle, context.facts.server_now.value_or(context.facts.now));
      !verified)
    context.add(Severity::kBlocker, "ca-mismatch", {object},
                "its caBundle does not trust the certificate that muster serves: " + verified.error().message, restart);
}

void look_at_webhooks(const DoctorContext& context, const std::string& chain) {
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    const json* own = context.dump.find("admissionregistration.k8s.io", kind, "", manifests::kWebhookConfigurationName);
    const std::string name = std::string(kind) + " " + std::string(manifests::kWebhookConfigurationName);
    if (own == nullptr || array_at(*own, {"webhooks"}).empty()) {
      context.add(Severity::kHarm, "webhooks-missing", {name}, "it is not there: jobs with a queue start without quota",
                  context.restore("webhooks", true));
      continue;
    }
    for (const json& webhook : array_at(*own, {"webhooks"}))
      look_at_client(context, name, object_at(webhook, {"clientConfig"}), chain);
  }
}

void look_at_definition(const DoctorContext& context, const manifests::DefinedKind& kind, const std::string& chain) {
  const std::string plain(string_at(*kind.definition, {"metadata", "name"}));
  const std::string name = "CustomResourceDefinition " + plain;
  const json* live = context.dump.find("apiextensions.k8s.io", "CustomResourceDefinition", "", plain);
  const bool optional = string_at(*kind.definition, {"spec", "group"}) == "jobset.x-k8s.io";
  if (live == nullptr) {
    if (!optional)
      context.add(Severity::kBlocker, "definition-missing", {name},
                  "it is not there, and muster does not begin without it", context.restore("crds"));
    return;
  }
  const bool own = label(*live, manifests::kAppNameLabel) == manifests::kAppName;
  if (!string_at(*live, {"metadata", "deletionTimestamp"}).empty())
    return context.add(
        Severity::kBlocker, "definition-deleted", {name},
        "it is being deleted, with all objects of its kind, and no new ones can be created",
        "remove the finalizers of its objects (docs/uninstall.md), and then: " + context.restore("crds"));
  if (!own && !optional)
    context.add(Severity::kHarm, "definition-of-others", {name},
                "it is not labelled as muster's, so muster does not keep its conversion",
                "kubectl muster adopt; without Kueue: kubectl label --overwrite crd " + plain +
                    " app.kubernetes.io/name=muster");
  const std::vector<std::string> missing = missing_fields(*live, *kind.definition);
  if (!missing.empty() && !(optional && !own))
    context.add(Severity::kChange, "definition-old", {name},
                "it lacks fields that this version of muster has (" + missing.front() +
                    (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more" : "") +
                    "): they are dropped when they are written",
                context.restore("crds", true));
  const json& conversion = object_at(*live, {"spec", "conversion"});
  if (own && string_at(conversion, {"strategy"}) == "Webhook")
    look_at_client(context, name, object_at(conversion, {"webhook", "clientConfig"}), chain);
}

void look_at_certificate(const DoctorContext& context, const ServingCertificate& certificate) {
  if (certificate.chain.empty()) return;
  const auto facts = certs::read_certificate(certificate.chain);
  if (facts) return;
  context.add(Severity::kBlocker, "certificate-unreadable",
              {"Secret " + context.facts.muster_namespace + "/" + certificate.secret},
              "the certificate that muster serves cannot be read: " + facts.error().message,
              context.kubectl() + "delete secret " + certificate.secret + ", and " + context.kubectl() +
                  "rollout restart deployment/muster");
}

}  // namespace

void doctor_webhooks(const DoctorContext& context) {
  const ServingCertificate certificate = serving_certificate(context);
  const std::string& chain = certificate.chain;
  look_at_certificate(context, certificate);
  look_at_webhooks(context, chain);
  for (const manifests::DefinedKind& kind : manifests::defined_kinds()) look_at_definition(context, kind, chain);
}

}  // namespace muster::commands
