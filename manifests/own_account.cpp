#include "manifests/own_account.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "api/meta/constants.h"
#include "jobs/group_scheduling.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "manifests/admission_policy.h"
#include "manifests/match_conditions.h"
#include "manifests/webhooks.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

constexpr const char* kOwnAccountPolicyName = "muster-own-account";

json written(const char* group, const std::vector<std::string>& resources, const std::vector<std::string>& operations) {
  return {{"apiGroups", {group}},
          {"apiVersions", {"*"}},
          {"operations", operations},
          {"resources", resources},
          {"scope", "*"}};
}

// The described kinds that muster knows without a configuration.
std::map<std::string, std::vector<std::string>> queued_plurals_by_group() {
  std::map<std::string, std::vector<std::string>> resources;
  for (const KindDescriptionPtr& kind : described_kinds()) resources[kind->group].push_back(kind->plural);
  return resources;
}

// Those of rbac.cpp that a rule below narrows.
json written_resources() {
  json rules = json::array({written("", {"configmaps", "pods", "pods/status"}, {"CREATE", "UPDATE", "DELETE"}),
                            written("", {"services", "persistentvolumeclaims"}, {"CREATE"}),
                            written("batch", {"jobs"}, {"CREATE", "DELETE"}),
                            written("jobset.x-k8s.io", {"jobsets"}, {"DELETE"}),
                            written("admissionregistration.k8s.io",
                                    {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, {"UPDATE"})});
  for (const auto& [group, plurals] : queued_plurals_by_group())
    rules.push_back(written(group.c_str(), plurals, {"DELETE"}));
  return rules;
}

json variable(const char* name, const std::string& expression) {
  return {{"name", name}, {"expression", expression}};
}

json variables() {
  const auto labels_of = [](const std::string& subject) {
    return "(has(" + subject + ".metadata.labels) ? " + subject + ".metadata.labels : {})";
  };
  const std::string owners = "variables.subject.metadata.ownerReferences";
  return json::array(
      {// Untyped, since the kinds differ.
       variable("subject", "dyn(request.operation == 'DELETE' ? oldObject : object)"),
       variable("labels", labels_of("variables.subject")),
       // An object does not come into muster's reach by the write itself.
       variable("labelsBefore", "oldObject == null ? variables.labels : " + labels_of("oldObject")),
       variable("controllers",
                "has(" + owners + ") ? " + owners + ".filter(o, has(o.controller) && o.controller) : []"),
       variable("ofJobSet",
                "variables.controllers.exists(o, o.kind == 'JobSet' && o.apiVersion.startsWith('jobset.x-k8s.io/'))")});
}

std::string has_label(std::string_view label) {
  return "('" + std::string(label) + "' in variables.labels && '" + std::string(label) + "' in variables.labelsBefore)";
}

std::string list_of(const std::set<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "'" : ", '") + text + "'";
  return "[" + list + "]";
}

// What muster's webhooks are about in any configuration. Kinds that a configuration itself describes are of a group
// with a domain; Kubernetes' own groups have none, or one below k8s.io.
std::string is_of_webhooks() {
  WebhookRegistration every;
  every.manage_jobs_without_queue_name = true;
  every.every_jobset = true;
  for (const jobs::JobKind* kind : jobs::job_kinds()) every.frameworks.emplace(kind->framework);
  std::map<std::string, std::set<std::string>> resources;
  for (const WebhookKind kind : {WebhookKind::kMutating, WebhookKind::kValidating}) {
    for (const json& entry : webhook_entries(kind, every, {}, "")) {
      for (const json& rule : entry.at("rules")) {
        for (const json& group : rule.at("apiGroups"))
          resources[group].insert(rule.at("resources").begin(), rule.at("resources").end());
      }
    }
  }
  std::string expression = "(g.contains('.') && !g.endsWith('.k8s.io'))";
  for (const auto& [group, plurals] : resources) {
    const bool has_own_domain = group.find('.') != std::string::npos && !group.ends_with(".k8s.io");
    if (!has_own_domain) expression += " || (g == '" + group + "' && r in " + list_of(plurals) + ")";
  }
  return expression;
}

// Kinds with jobs that muster stops, or deletes when their time is over.
std::string list_of_jobs() {
  std::set<std::string> plurals = {"jobs", "jobsets"};
  for (const auto& [group, described] : queued_plurals_by_group()) plurals.insert(described.begin(), described.end());
  return list_of(plurals);
}

json rule_for(const std::string& resources, const std::string& holds, const std::string& message) {
  return {{"expression", "!(request.resource.resource in " + resources + ") || (" + holds + ")"},
          {"message", "the service account of muster " + message},
          {"reason", "Forbidden"}};
}

json validations() {
  const std::string elsewhere = "request.namespace != 'kube-system'";
  const std::string group_label(kGroupLabel);
  return json::array(
      {rule_for("['configmaps']",
                elsewhere + " && variables.subject.metadata.name.endsWith('" +
                    std::string(jobs::kGroupConfigMapSuffix) + "') && " + has_label(kGroupLabel) +
                    " && variables.controllers.exists(o, o.kind in ['Job', 'JobSet'])",
                "can write only the ConfigMaps of groups that start together: with the label " + group_label +
                    ", a name that ends in " + std::string(jobs::kGroupConfigMapSuffix) +
                    " and a Job or JobSet as controller, and not in kube-system"),
       rule_for(list_of_jobs(),
                "request.operation != 'DELETE' || has(variables.subject.metadata.deletionTimestamp) || " +
                    has_label(kQueueNameLabel) +
                    " || (request.resource.resource == 'jobs' && variables.ofJobSet) || (request.resource.resource == "
                    "'jobsets' && has(variables.subject.spec.ttlSecondsAfterFinished))",
                "can delete only jobs that are deleted already or have the label " + std::string(kQueueNameLabel) +
                    ", Jobs of JobSets, and JobSets with spec.ttlSecondsAfterFinished"),
       rule_for("['jobs']", "request.operation != 'CREATE' || (" + elsewhere + " && variables.ofJobSet)",
                "can create only Jobs with a JobSet as controller, and none in kube-system"),
       rule_for("['services']",
                elsewhere + " && variables.ofJobSet && has(variables.subject.spec.clusterIP) && "
                            "variables.subject.spec.clusterIP == 'None'",
                "can create only headless Services with a JobSet as controller, and none in kube-system"),
       rule_for("['persistentvolumeclaims']", elsewhere + " && " + has_label(kJobSetNameKey),
                "can create only PersistentVolumeClaims with the label " + std::string(kJobSetNameKey) +
                    ", and none in kube-system"),
       rule_for("['pods']", has_label(kGroupLabel) + " || " + has_label(kManagedLabel),
                "can change and delete only pods with the label " + group_label + " or " + std::string(kManagedLabel)),
       rule_for("['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']",
                "!has(variables.subject.webhooks) || variables.subject.webhooks.all(w, !has(w.rules) || w.rules.all(x, "
                "x.operations.all(o, o in ['CREATE', 'UPDATE']) && x.apiGroups.all(g, x.resources.all(r, " +
                    is_of_webhooks() + "))))",
                "can have only those kinds sent to it that its rules are about")});
}

}  // namespace

std::vector<json> own_account_policy(const std::string& own_namespace) {
  json policy = {{"failurePolicy", "Fail"},
                 {"matchConstraints", {{"matchPolicy", "Equivalent"}, {"resourceRules", written_resources()}}},
                 {"matchConditions", json::array({match_conditions::by_muster(own_namespace)})},
                 {"variables", variables()},
                 {"validations", validations()}};
  return admission_policy("ValidatingAdmissionPolicy", kOwnAccountPolicyName, std::move(policy),
                          {{"validationActions", json::array({"Deny"})}});
}

}  // namespace muster::manifests
