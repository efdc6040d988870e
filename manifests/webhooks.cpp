#include "manifests/webhooks.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/constants.h"
#include "base/encoding.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "manifests/match_conditions.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

constexpr std::string_view kNamespaceNameLabel = "kubernetes.io/metadata.name";
constexpr std::string_view kKueueGroup = "kueue.x-k8s.io";
constexpr RuleMatch kPodsMatch{"", "pods"};

// What the rules of one webhook want to see: (group, resource) -> operations.
using Wanted = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

// Pods in queues are one of several selections of pods, with separate entries (add_pods).
bool is_type(const jobs::JobKind& kind, std::string_view group, std::string_view resource) {
  return kind.type.id() == KindId{resource, group, {}};
}

bool is_registered(const RuleMatch& match, const WebhookRegistration& registration) {
  const auto kinds = jobs::job_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const jobs::JobKind* kind) {
    return is_type(*kind, match.group, match.resource);
  });
  if (found == kinds.end() || *found == &jobs::batch_job || *found == &jobs::jobset) return true;
  return registration.frameworks.contains((*found)->framework);
}

// Of the kinds beside Jobs and JobSets those whose integration is enabled.
template <class Rules>
Wanted wanted_by(const Rules& rules, const WebhookRegistration& registration) {
  Wanted wanted;
  for (const auto* rule : rules) {
    for (const RuleMatch& written : rule->matches) {
      for (const RuleMatch& match : expand(written)) {
        // Pods in queues have separate entries (add_pods).
        const bool queued_pods = written == kQueuedJobs && match == kPodsMatch;
        if (queued_pods || !is_registered(match, registration)) continue;
        auto& operations = wanted[{std::string(match.group), std::string(match.resource)}];
        for (Operation operation : rule->operations) operations.emplace(to_text(operation));
      }
    }
  }
  return wanted;
}

std::string version_of(const std::string& group, const std::string& resource) {
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (is_type(*kind, group, resource)) return std::string(kind->type.version);
  }
  // Requests in v1beta1 come converted (matchPolicy Equivalent).
  return group == kKueueGroup ? "v1beta2" : "v1";
}

bool is_job(const std::string& group, const std::string& resource) {
  return std::any_of(jobs::job_kinds().begin(), jobs::job_kinds().end(),
                     [&](const jobs::JobKind* kind) { return is_type(*kind, group, resource); });
}

bool is_workload(const std::string& group, const std::string& resource) {
  return group == kKueueGroup && (resource == "workloads" || resource == "workloads/status");
}

bool is_priority_class(const std::string& group, const std::string& resource) {
  return group == kKueueGroup && resource == "workloadpriorityclasses";
}

bool is_local_queue(const std::string& group, const std::string& resource) {
  return group == kKueueGroup && resource == "localqueues";
}

// Kubernetes' own group is the empty one.
bool is_core(const std::string& group, const std::string& resource, const char* name) {
  return group.empty() && resource == name;
}

// The rules for jobs, which the first three entries share, and those for what muster
// always wants to see, Workloads apart.
struct RuleLists {
  json jobs = json::array(), own = json::array(), workloads = json::array(), local_queues = json::array(),
       priority_classes = json::array(), pods = json::array(), resizes = json::array(), config_maps = json::array();

  json& of(const std::string& group, const std::string& resource, bool every_jobset) {
    if (is_workload(group, resource)) return workloads;
    if (is_local_queue(group, resource)) return local_queues;
    if (is_priority_class(group, resource)) return priority_classes;
    if (is_core(group, resource, "pods")) return pods;
    if (is_core(group, resource, "pods/resize")) return resizes;
    if (is_core(group, resource, "configmaps")) return config_maps;
    const bool always = !is_job(group, resource) || (every_jobset && resource == jobs::jobset.type.plural);
    return always ? own : jobs;
  }
};

RuleLists rules_of(WebhookKind kind, const WebhookRegistration& registration) {
  const Wanted wanted = kind == WebhookKind::kMutating ? wanted_by(mutators::mutator_chain(), registration)
                                                       : wanted_by(validators::all_validators(), registration);
  RuleLists lists;
  for (const auto& [target, operations] : wanted) {
    const auto& [group, resource] = target;
    const bool namespaced =
        is_job(group, resource) || is_workload(group, resource) || is_local_queue(group, resource) || group.empty();
    lists.of(group, resource, registration.every_jobset)
        .push_back({{"apiGroups", {group}},
                    {"apiVersions", {version_of(group, resource)}},
                    {"resources", {resource}},
                    {"operations", operations},
                    {"scope", namespaced ? "Namespaced" : "*"}});
  }
  return lists;
}

json requirement(std::string_view key, std::string_view op, const std::vector<std::string>& values) {
  json expression = {{"key", key}, {"operator", op}};
  if (!values.empty()) expression["values"] = values;
  return expression;
}

// A selector of the configuration as the API spells it; Gt and Lt cannot come from one.
std::string_view operator_text(LabelSelector::Operator op) {
  switch (op) {
    case LabelSelector::Operator::kNotIn:
      return "NotIn";
    case LabelSelector::Operator::kExists:
      return "Exists";
    case LabelSelector::Operator::kDoesNotExist:
      return "DoesNotExist";
    default:
      return "In";
  }
}

json client_config(const WebhookRegistration& registration, std::string_view service, const std::string& path,
                   const std::string& ca_bundle_pem) {
  json config;
  if (registration.url.empty()) {
    config["service"] = {{"name", service}, {"namespace", registration.own_namespace}, {"path", path}, {"port", 443}};
  } else {
    config["url"] = registration.url + path;
  }
  if (!ca_bundle_pem.empty()) config["caBundle"] = base64_encode(ca_bundle_pem);
  return config;
}

class Entries {
 public:
  Entries(WebhookKind kind, const WebhookRegistration& registration, const std::string& ca_bundle_pem)
      : mutating_(kind == WebhookKind::kMutating),
        registration_(registration),
        client_config_(
            client_config(registration, registration.service, mutating_ ? "/mutate" : "/validate", ca_bundle_pem)) {}

  // `namespaces` and `conditions` are requirements beside those that every entry has.
  void add(const std::string& name, const json& rules, json namespaces, json conditions,
           json objects = json::object()) {
    if (rules.empty()) return;
    conditions.insert(conditions.begin(), match_conditions::more_than_its_deletion());
    namespaces.push_back(requirement(kNamespaceNameLabel, "NotIn", {"kube-system", registration_.own_namespace}));
    json entry = {{"name", name + (mutating_ ? ".mutate" : ".validate") + ".muster.batch"},
                  {"admissionReviewVersions", {"v1"}},
                  {"clientConfig", client_config_},
                  {"failurePolicy", "Fail"},
                  {"matchPolicy", "Equivalent"},
                  {"sideEffects", "None"},
                  {"timeoutSeconds", 5},
                  {"rules", rules},
                  {"namespaceSelector", {{"matchExpressions", std::move(namespaces)}}},
                  {"objectSelector", std::move(objects)},
                  {"matchConditions", std::move(conditions)}};
    // Asked again when a later webhook changed the pod template: the waiter must stay last.
    if (mutating_) entry["reinvocationPolicy"] = "IfNeeded";
    entries_.push_back(std::move(entry));
  }
  json take() { return std::move(entries_); }

 private:
  const bool mutating_;
  const WebhookRegistration& registration_;
  const json client_config_;
  json entries_ = json::array();
};

// The Jobs of JobSets carry none of our keys, but are part of what can be queued. Nothing
// is edited in them, and whoever runs the JobSets is not asked about.
void add_children(const WebhookRegistration& registration, const json& rules, Entries& entries) {
  json jobs = json::array();
  for (const json& rule : rules) {
    if (rule["resources"] == json::array({jobs::batch_job.type.plural})) jobs.push_back(rule);
  }
  json conditions = json::array({match_conditions::of_a_jobset(), match_conditions::not_sent_by_another_entry(),
                                 match_conditions::more_than_metadata(),
                                 match_conditions::not_by_muster(registration.own_namespace)});
  if (!registration.jobset_controller.empty())
    conditions.push_back(match_conditions::not_by("not-by-jobset-controller", registration.jobset_controller));
  entries.add("children", jobs, json::array(), std::move(conditions));
}

// Pods go into queues by their own label, or because their parent says so; the webhook is called for no other pod, so
// that every other pod starts while muster is away. So neither manageJobsWithoutQueueName nor a default LocalQueue
// reaches pods that name no queue: all pods of those namespaces would depend on muster.
void add_pods(WebhookKind kind, const WebhookRegistration& registration, Entries& entries) {
  if (!registration.frameworks.contains(jobs::plain_pod.framework)) return;
  const bool mutating = kind == WebhookKind::kMutating;
  const json operations = mutating ? json::array({"CREATE"}) : json::array({"CREATE", "UPDATE"});
  const json rules = json::array({{{"apiGroups", {""}},
                                   {"apiVersions", {"v1"}},
                                   {"resources", {"pods"}},
                                   {"operations", operations},
                                   {"scope", "Namespaced"}}});
  const auto labelled = [](std::string_view op) {
    return json{{"matchExpressions", json::array({requirement(kQueueNameLabel, op, {})})}};
  };
  entries.add("queued-pods", rules, json::array(),
              json::array({match_conditions::not_by_muster(registration.own_namespace)}), labelled("Exists"));
  entries.add("suspended-pods", rules, json::array(),
              json::array({match_conditions::suspended_by_parent(),
                           match_conditions::not_by_muster(registration.own_namespace)}),
              labelled("DoesNotExist"));
}

}  // namespace

json webhook_entries(WebhookKind kind, const WebhookRegistration& registration,
                     const std::vector<std::string>& default_queue_namespaces, const std::string& ca_bundle_pem) {
  Entries entries(kind, registration, ca_bundle_pem);
  const RuleLists rules = rules_of(kind, registration);
  entries.add("queued", rules.jobs, json::array(),
              json::array({match_conditions::queued_or_gang(),
                           match_conditions::not_started_by_muster(registration.own_namespace)}));
  if (registration.manage_jobs_without_queue_name && !registration.managed_namespaces.matches_nothing()) {
    json namespaces = json::array();
    for (const auto& wanted : registration.managed_namespaces.requirements()) {
      namespaces.push_back(requirement(wanted.key, operator_text(wanted.op), wanted.values));
    }
    entries.add("managed", rules.jobs, std::move(namespaces),
                json::array({match_conditions::not_sent_by_another_entry()}));
  }
  if (!default_queue_namespaces.empty()) {
    entries.add("default", rules.jobs, json::array({requirement(kNamespaceNameLabel, "In", default_queue_namespaces)}),
                json::array({match_conditions::not_sent_by_another_entry()}));
  }
  add_pods(kind, registration, entries);
  entries.add("resized-pods", rules.resizes, json::array(), json::array({match_conditions::of_a_queue_or_job()}));
  entries.add("own", rules.own, json::array(), json::array());
  if (kind == WebhookKind::kValidating) add_children(registration, rules.jobs, entries);
  entries.add("workloads", rules.workloads, json::array(),
              json::array({match_conditions::not_by_muster(registration.own_namespace),
                           kind == WebhookKind::kMutating ? match_conditions::with_min_count()
                                                          : match_conditions::more_than_conditions()}));
  // Most LocalQueues never pass here: users make them in their namespaces, also while muster is away.
  entries.add("local-queues", rules.local_queues, json::array(),
              json::array({match_conditions::with_share_or_protection()}));
  entries.add("priority-classes", rules.priority_classes, json::array(),
              json::array({match_conditions::with_protection()}));
  if (registration.group_scheduling) {
    entries.add("gang-pods", rules.pods, json::array(), json::array({match_conditions::not_by_the_job_controller()}),
                {{"matchExpressions", json::array({requirement(kGroupLabel, "Exists", {})})}});
    entries.add("gang-config-maps", rules.config_maps, json::array(),
                json::array({match_conditions::named_as_of_a_gang(),
                             match_conditions::not_by_muster(registration.own_namespace)}));
  }
  return entries.take();
}

json conversion_client_config(const WebhookRegistration& registration, const std::string& ca_bundle_pem) {
  return client_config(registration, kConversionServiceName, "/convert", ca_bundle_pem);
}

json webhook_configuration(WebhookKind kind, const WebhookRegistration& registration) {
  const bool mutating = kind == WebhookKind::kMutating;
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration"},
          {"metadata", {{"name", kWebhookConfigurationName}, {"labels", {{kAppNameLabel, kAppName}}}}},
          {"webhooks", webhook_entries(kind, registration, {}, "")}};
}

}  // namespace muster::manifests
