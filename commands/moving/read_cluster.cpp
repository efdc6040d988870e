#include "commands/moving/read_cluster.h"

#include <set>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "base/whole_number.h"
#include "commands/kubectl/own_session.h"
#include "commands/moving/rules/components.h"
#include "commands/review/review_input.h"
#include "jobs/job_kind.h"
#include "kinds/unqueued_kinds.h"
#include "kube/leases/lease_record.h"
#include "kube/list_objects.h"
#include "manifests/api_services.h"
#include "manifests/names.h"

namespace muster::commands {
namespace {

using kube::Resource;
using nlohmann::json;

Resource idle_kind(const char* plural, const char* kind) {
  return {"kueue.x-k8s.io", "v1beta2", plural, false, kind};
}

void add_components(std::vector<Reading>& readings) {
  readings.push_back({kube::resource_of(kMutatingWebhookConfigurations)});
  readings.push_back({kube::resource_of(kValidatingWebhookConfigurations)});
  for (const Component* component : {&kueue_component(), &jobset_component()}) {
    // By the label of its manifests, and by its name if the label is missing.
    readings.push_back({deployments(), named(component->deployment)});
    readings.push_back(
        {deployments(),
         {.label_selector = std::string(manifests::kAppNameLabel) + "=" + std::string(component->label)}});
    readings.push_back({kube::leases(), named(component->lease)});
    for (const std::string_view name : component->api_services)
      readings.push_back({kube::resource_of(manifests::kApiServices), named(name)});
  }
  readings.push_back({kube::resource_of(kConfigMaps), named("kueue-manager-config")});
  readings.push_back({kube::resource_of(kConfigMaps), {.label_selector = "app.kubernetes.io/name=kueue"}});
  readings.push_back({kube::resource_of(kConfigMaps), named("jobset-manager-config")});
}

void add_queues(std::vector<Reading>& readings) {
  for (const ResourceType* type : {&kClusterQueues, &kCohorts, &kLocalQueues, &kResourceFlavors, &kAdmissionChecks,
                                   &kWorkloadPriorityClasses, &kWorkloads, &kNamespaces})
    readings.push_back({kube::resource_of(*type)});
  readings.push_back({idle_kind("topologies", "Topology")});
  readings.push_back({idle_kind("multikueueconfigs", "MultiKueueConfig")});
  readings.push_back({idle_kind("multikueueclusters", "MultiKueueCluster")});
  readings.push_back({idle_kind("provisioningrequestconfigs", "ProvisioningRequestConfig")});
}

void add_jobs(std::vector<Reading>& readings) {
  std::set<std::string> seen;
  const auto add = [&](std::string_view group, std::string_view version, std::string_view plural,
                       std::string_view kind) {
    Resource resource{std::string(group), std::string(version), std::string(plural), true, std::string(kind)};
    if (seen.insert(resource.group + "/" + resource.plural).second)
      readings.push_back({std::move(resource), {.label_selector = std::string(kQueueNameLabel)}});
  };
  for (const jobs::JobKind* kind : jobs::job_kinds())
    add(kind->type.group, kind->type.version, kind->type.plural, kind->type.kind);
  for (const UnqueuedKind& kind : unqueued_kinds()) add(kind.group, kind.version, kind.resource, kind.kind);
  readings.push_back({kube::resource_of(kPods), {.label_selector = std::string(kManagedLabel) + "=true"}});
}

}  // namespace

Resource deployments() {
  return {"apps", "v1", "deployments", true, "Deployment"};
}

kube::Selection named(std::string_view name, const std::string& ns) {
  return {.ns = ns, .field_selector = "metadata.name=" + std::string(name)};
}

std::vector<Reading> component_readings() {
  std::vector<Reading> readings;
  add_components(readings);
  return readings;
}

std::vector<Reading> preflight_readings() {
  std::vector<Reading> readings = component_readings();
  readings.push_back({kube::resource_of(kCustomResourceDefinitions)});
  add_queues(readings);
  add_jobs(readings);
  return readings;
}

Outcome<> read_into(kube::KubeApi& api, const std::vector<Reading>& readings, ClusterDump& dump) {
  std::set<std::string> refused;
  for (const Reading& reading : readings) {
    auto listed = kube::list_objects(api, reading.resource, reading.selection);
    const std::string name = kube::display_name(reading.resource);
    if (!listed && listed.error().code == 404) continue;
    if (!listed && (listed.error().forbidden() || listed.error().code == 401)) {
      if (refused.insert(name).second) dump.add_unread(name, listed.error().message);
      continue;
    }
    if (!listed)
      return fail(name + " cannot be listed: " + listed.error().message + "; nothing was changed, try again");
    for (json& object : *listed) dump.add(std::move(object));
  }
  return Done{};
}

std::optional<int> server_minor(kube::KubeApi& api) {
  kube::KubeRequest request;
  request.path = "/version";
  request.repeatable = true;
  const auto answer = api.send(request, {});
  if (!answer) return std::nullopt;
  std::string_view text = string_at(*answer, {"minor"});  // also as "31+"
  return take_number<int>(text);
}

std::optional<TimePoint> server_time(kube::KubeApi& api) {
  const auto self = review_self(api);
  return self ? self->at : std::nullopt;
}

Result<ClusterDump> read_dump(const SourceNames& names, std::istream& standard_input) {
  const auto sources = read_sources(names, standard_input);
  if (!sources) return fail(sources.error().message);
  auto documents = read_documents(*sources);
  if (!documents) return fail(documents.error().message);
  if (documents->empty()) return fail("the files hold no object");
  ClusterDump dump;
  for (InputDocument& document : *documents) dump.add(std::move(document.value));
  struct Expected {
    const char *group, *kind, *plural;
  };
  for (const Expected& each :
       {Expected{"apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions"},
        Expected{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
        Expected{"apps", "Deployment", "deployments"}, Expected{"", "ConfigMap", "configmaps"},
        Expected{"kueue.x-k8s.io", "ClusterQueue", "clusterqueues"}}) {
    if (dump.of_kind(each.group, each.kind).empty())
      dump.add_unread(each.plural, "the files have no object of kind " + std::string(each.kind));
  }
  return dump;
}

}  // namespace muster::commands
