// muster's two webhook configurations, as JSON, from the settings: what must pass
// muster is sent to it and fails closed; everything else never depends on it. Pure.
//
// One path each (/mutate, /validate), because the API server keeps its idle
// connections per path, and several entries:
//
//   queued    Jobs and JobSets that carry a kueue.x-k8s.io/ or muster.batch/ key or a gang
//             configuration, in the object or the old object
//   managed   the others, in the namespaces that manageJobsWithoutQueueName covers
//   default   the others, in namespaces with a LocalQueue `default`
//   children  Jobs whose controller is a JobSet and that carry no such key: made or changed by
//             others than the JobSet controller (validating only)
//   resized-pods  resizes of running pods that can be part of what is queued (validating only)
//   own       what muster is the controller of, always: every JobSet when muster runs
//             them itself, and each kind in the rules' tables that is no job
//   workloads Workloads and their status, unless muster writes them: the rules would only
//             repeat what the engine has decided, twice for every status that it writes
//
// The entries exclude each other as far as CEL can tell, so that a request is rarely
// sent twice; when it is, the rules' idempotence makes that harmless. The rules and
// operations are those of mutator_chain() and all_validators(), never written by hand.
//
// No entry matches kube-system, muster's own namespace, or what the deletion of an object needs
// (match_conditions.h). Every field that the API server defaults is written out, so that what
// is stored can be compared with what is wanted.
//
// Source: admissionregistration.k8s.io/v1; docs/life-of-a-review.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/selectors.h"
#include "manifests/names.h"

namespace muster::manifests {

struct WebhookRegistration {
  std::string own_namespace{kDefaultNamespace};
  std::string service{kWebhookServiceName};  // in own_namespace, port 443
  std::string url;  // "https://10.0.0.5:9443", instead of the service: muster outside the cluster
  bool manage_jobs_without_queue_name = false;
  LabelSelector managed_namespaces = LabelSelector::everything();
  // muster is the JobSet controller of this cluster, so it sees every JobSet. Off
  // beside upstream's controller, whose unlabelled JobSets must not depend on muster.
  bool every_jobset = false;
  // Jobs can start as a group, so pods and ConfigMaps of groups are reviewed.
  bool group_scheduling = true;
  // integrations.frameworks: of the kinds that are described only these come to muster.
  std::set<std::string, std::less<>> frameworks{};
  // User name of upstream's controller, which is not asked about the Jobs that it makes; empty:
  // there is none, or it was not found.
  std::string jobset_controller{};
  // Port of the Service, and of the container, at which the visibility API answers the API server; 0: it is not
  // aggregated.
  int visibility_port = 0;
};

enum class WebhookKind { kMutating, kValidating };

// The list `webhooks` of the configuration. `default_queue_namespaces` sorted; the
// bundle is PEM, and left out when empty.
nlohmann::json webhook_entries(WebhookKind kind, const WebhookRegistration& registration,
                               const std::vector<std::string>& default_queue_namespaces,
                               const std::string& ca_bundle_pem);

// `spec.conversion.webhook.clientConfig` of a CRD whose objects muster converts; the
// bundle as above.
nlohmann::json conversion_client_config(const WebhookRegistration& registration, const std::string& ca_bundle_pem);

// The whole object, to be created.
nlohmann::json webhook_configuration(WebhookKind kind, const WebhookRegistration& registration);

}  // namespace muster::manifests
