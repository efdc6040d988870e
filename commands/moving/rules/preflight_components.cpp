// Kueue and JobSet: the running controllers, and whether muster can take over their definitions.
#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/preflight.h"
#include "manifests/schema.h"

namespace muster::commands {
namespace {

using nlohmann::json;

std::vector<std::string> names_of(const std::vector<const json*>& objects) {
  std::vector<std::string> names;
  for (const json* object : objects) names.push_back(object_name(*object));
  return names;
}

std::string image_of(const json& deployment) {
  const json& containers = array_at(deployment, {"spec", "template", "spec", "containers"});
  for (const json& container : containers) {
    if (string_at(container, {"name"}) == "manager") return std::string(string_at(container, {"image"}));
  }
  return containers.empty() ? "" : std::string(string_at(containers[0], {"image"}));
}

void find_running(const PreflightContext& context, const Component& component, const FoundComponent& found,
                  const std::string& remedy) {
  const std::string title(component.title);
  for (const json* deployment : found.deployments) {
    context.add(Severity::kNote, "running", {object_name(*deployment)},
                title + " is installed (" + image_of(*deployment) + ", " +
                    std::to_string(int_at(*deployment, {"spec", "replicas"}).value_or(1)) + " replicas)",
                remedy);
    if (component.label == "kueue" && string_at(*deployment, {"metadata", "namespace"}) == context.muster_namespace)
      context.add(Severity::kBlocker, "same-namespace", {object_name(*deployment)},
                  "Kueue runs in the namespace that is meant for muster: both would have one Lease",
                  "choose another namespace for muster (--muster-namespace)");
  }
  for (const json* lease : found.leases) {
    const bool known = std::any_of(found.deployments.begin(), found.deployments.end(), [&](const json* deployment) {
      return string_at(*deployment, {"metadata", "namespace"}) == string_at(*lease, {"metadata", "namespace"});
    });
    const std::string held = "held by " + std::string(string_at(*lease, {"spec", "holderIdentity"}));
    if (known || component.label != "kueue")
      context.add(Severity::kNote, "lease", {object_name(*lease)}, title + "'s Lease is " + held, remedy);
    else
      // Every user who can create Leases can create such a Lease: it must not block a move.
      context.add(found.deployments.empty() ? Severity::kHarm : Severity::kNote, "lease-without-deployment",
                  {object_name(*lease)},
                  title + "'s Lease is " + held + ", and " + title + "'s Deployment is not in this namespace",
                  "stop that process, or delete the Lease if no process renews it");
  }
  std::vector<const json*> webhooks = found.mutating;
  webhooks.insert(webhooks.end(), found.validating.begin(), found.validating.end());
  if (!webhooks.empty() && found.deployments.empty())
    context.add(
        Severity::kHarm, "webhooks-without-server", names_of(webhooks),
        title + "'s webhooks are registered, and its Deployment was not found: requests that they guard fail",
        "muster adopt removes them, or: kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration "
        "NAME");
  else if (!webhooks.empty())
    context.add(Severity::kNote, "webhooks", names_of(webhooks), title + "'s webhooks are registered and fail closed",
                remedy);
  if (!found.api_services.empty())
    context.add(Severity::kNote, "api-services", names_of(found.api_services),
                title + "'s aggregated API is registered; without " + title +
                    " it would hold up the deletion of namespaces, and muster does not serve it",
                remedy);
}

bool serves(const json& definition, std::string_view version) {
  const json& versions = array_at(definition, {"spec", "versions"});
  return std::any_of(versions.begin(), versions.end(), [&](const json& each) {
    return string_at(each, {"name"}) == version && bool_at(each, {"served"});
  });
}

// Definitions that muster needs, in a group of which some definitions exist.
void find_missing_definitions(const PreflightContext& context, const FoundComponent& found) {
  std::set<std::string> there;
  for (const json* definition : found.definitions)
    there.insert(std::string(string_at(*definition, {"metadata", "name"})));
  std::vector<std::string> missing;
  for (const manifests::DefinedKind& kind : manifests::defined_kinds()) {
    if (string_at(*kind.definition, {"spec", "group"}) != "kueue.x-k8s.io") continue;
    const std::string name(string_at(*kind.definition, {"metadata", "name"}));
    if (!there.contains(name)) missing.push_back("CustomResourceDefinition " + name);
  }
  if (!missing.empty() && !there.empty())
    context.add(Severity::kBlocker, "definition-missing", missing,
                "it is missing while others of Kueue's definitions are there: Kueue is half removed",
                "install Kueue's definitions again, or remove them all if no queue is needed any more");
}

void judge_definition(const PreflightContext& context, const json& definition, const std::string& needed) {
  const std::string name = object_name(definition);
  if (!string_at(definition, {"metadata", "deletionTimestamp"}).empty())
    return context.add(Severity::kBlocker, "definition-deleted", {name},
                       "it is being deleted, with all objects of its kind",
                       "let the deletion end, and install it again");
  if (!serves(definition, needed))
    context.add(Severity::kBlocker, "definition-old", {name}, "it does not serve " + needed + ", which muster needs",
                needed == "v1beta2" ? "upgrade Kueue to 0.15 or later first" : "upgrade JobSet first");
  for (const std::string& version : strings_at(definition, {"status", "storedVersions"})) {
    if (version == needed) continue;
    if (version == "v1beta1" && needed == "v1beta2")
      context.add(Severity::kNote, "stored-version", {name}, "objects are stored as v1beta1",
                  "muster adopt rewrites them as v1beta2");
    else
      context.add(Severity::kBlocker, "stored-version", {name},
                  "objects are stored as " + version + ", which muster cannot read",
                  "migrate them with the version of Kueue or JobSet that can");
  }
}

}  // namespace

void preflight_components(const PreflightContext& context) {
  const FoundComponent kueue = find_component(context.dump, kueue_component());
  find_running(context, kueue_component(), kueue, "muster adopt takes over from it");
  find_missing_definitions(context, kueue);
  static const std::set<std::string_view> kOthers = {"topologies", "multikueueconfigs", "multikueueclusters",
                                                     "provisioningrequestconfigs"};
  for (const json* definition : kueue.definitions) {
    if (!kOthers.contains(string_at(*definition, {"spec", "names", "plural"})))
      judge_definition(context, *definition, "v1beta2");
  }
  const FoundComponent jobset = find_component(context.dump, jobset_component());
  find_running(context, jobset_component(), jobset, "it can stay; muster adopt --jobset takes over from it");
  for (const json* definition : jobset.definitions) judge_definition(context, *definition, "v1alpha2");
}

}  // namespace muster::commands
