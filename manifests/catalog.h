// Everything that `muster manifests` prints: the YAML files of this folder, which are
// part of the binary, fitted to a namespace, image and configuration, and the objects
// that are made from muster's own tables (webhooks.h, rbac.h). Pure.
//
// With default options the result equals the files below manifests/; a test compares.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifests/names.h"
#include "manifests/rbac.h"
#include "manifests/unqueued_policy.h"
#include "manifests/webhooks.h"

namespace muster::manifests {

enum class ManifestSet {
  // What `kubectl kustomize manifests` gives, in the order in which it is to be applied:
  // all but the samples and the JobSet CRD, which must not replace an upstream one unasked.
  kAll,
  kCrds,         // LocalQueue and JobSet
  kRbac,         // muster's own rights, and the user-facing roles
  kDeployment,   // Namespace, ConfigMap, Services, NetworkPolicy, Deployment, PodDisruptionBudget
  kApiServices,  // of the visibility API, where it is aggregated; none otherwise
  kPolicies,     // of admission, which the API server evaluates itself
  kWebhooks,
  kSamples,
  kLeanWorkloads,  // lean_workloads.h; not part of all
  // Limits requests for the aggregated visibility API; not part of all.
  kVisibilityFlowControl,
  kChart,  // no objects: what the Helm chart is made from (chart.h), whatever the options
};
// "all", "crds", "rbac", "deployment", "policies", "webhooks", "api-services", "samples", "lean-workloads",
// "visibility-flow-control", "chart"; the error lists them.
Result<ManifestSet> parse_manifest_set(std::string_view text);

struct ManifestOptions {
  // The namespace and the webhook Service's name or URL come from here.
  WebhookRegistration registration{};
  RightsOptions rights{};
  // Further arguments of the Deployment's `muster serve`, so that it uses exactly its permissions.
  std::vector<std::string> arguments{};
  // "registry.example/muster:1.2"; empty: the one that manifests/kustomization.yaml names.
  std::string image{};
  // Text of the configuration file for the ConfigMap; empty: the one in manifests/config.yaml.
  std::string configuration{};
  // Whether kueue.x-k8s.io/v1beta1 is served, as Kueue did before 0.20. It costs the API server a separate cache for
  // each kind, to which it converts every write. Stored objects of that version are readable all the same.
  bool serves_v1beta1 = false;
  // What the admission policy does with objects that ask for a queue and are of a kind that
  // muster does not queue.
  UnqueuedKinds unqueued_kinds = UnqueuedKinds::kWarn;
  // The kinds that it passes over.
  ExternalFrameworks external_frameworks{};
};

std::vector<nlohmann::json> manifests(ManifestSet set, const ManifestOptions& options);

// As `muster manifests` prints them: YAML documents, each but the first after "---".
std::string print_yaml(const std::vector<nlohmann::json>& documents);

}  // namespace muster::manifests
