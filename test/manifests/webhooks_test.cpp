#include "manifests/webhooks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/constants.h"
#include "base/encoding.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace webhooks_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

// (group, resource, operation)
using Asked = std::set<std::tuple<std::string, std::string, std::string>>;

// Of the kinds beside Jobs and JobSets those of the registration.
bool is_wanted(const RuleMatch& match, const WebhookRegistration& registration) {
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (kind == &jobs::batch_job || kind == &jobs::jobset || kind->type.plural != match.resource) continue;
    return registration.frameworks.contains(kind->framework);
  }
  return true;
}

template <class Rules>
Asked declared(const Rules& rules, const WebhookRegistration& registration) {
  Asked asked;
  for (const auto* rule : rules) {
    for (const RuleMatch& written : rule->matches) {
      for (const RuleMatch& match : expand(written)) {
        // Those of gangs are asked for by their name.
        const bool named_pods = written == match && match.resource == "pods";
        if (!named_pods && !is_wanted(match, registration)) continue;
        for (Operation operation : rule->operations) asked.emplace(match.group, match.resource, to_text(operation));
      }
    }
  }
  return asked;
}

Asked registered(const json& entry) {
  Asked asked;
  for (const json& rule : entry.at("rules")) {
    for (const json& group : rule.at("apiGroups")) {
      for (const json& resource : rule.at("resources")) {
        for (const json& operation : rule.at("operations")) asked.emplace(group, resource, operation);
      }
    }
  }
  return asked;
}

std::vector<std::string> names(const json& entries) {
  std::vector<std::string> found;
  for (const json& entry : entries) found.push_back(entry.at("name"));
  return found;
}

WebhookRegistration everything() {
  WebhookRegistration registration;
  registration.manage_jobs_without_queue_name = true;
  registration.every_jobset = true;
  registration.frameworks = {"kubeflow.org/mpijob", "kubeflow.org/tfjob"};
  return registration;
}

json condition(const json& entry, const std::string& name) {
  for (const json& one : entry.at("matchConditions")) {
    if (one.at("name") == name) return one.at("expression");
  }
  return nullptr;
}

json entry_named(const json& entries, const std::string& name) {
  for (const json& entry : entries) {
    const std::string of = entry.at("name");
    if (of == name + ".validate.muster.batch" || of == name + ".mutate.muster.batch") return entry;
  }
  return nullptr;
}

constexpr WebhookKind kBoth[] = {WebhookKind::kMutating, WebhookKind::kValidating};

}  // namespace

TEST_CASE("what the rules declare is registered and nothing more") {
  for (WebhookKind kind : kBoth) {
    for (const WebhookRegistration& registration : {WebhookRegistration{}, everything()}) {
      const Asked wanted = kind == WebhookKind::kMutating ? declared(mutators::mutator_chain(), registration)
                                                          : declared(validators::all_validators(), registration);
      REQUIRE_FALSE(wanted.empty());
      Asked asked;
      for (const json& entry : webhook_entries(kind, registration, {"team-a"}, "")) asked.merge(registered(entry));
      CHECK(asked == wanted);
    }
  }
}

TEST_CASE("pods that carry no label of ours and whose parent says nothing never depend on muster") {
  WebhookRegistration registration;
  registration.frameworks = {"pod"};
  for (WebhookKind kind : kBoth) {
    std::set<std::string> asked;
    for (const json& entry : webhook_entries(kind, registration, {}, "")) {
      const Asked rules = registered(entry);
      const bool of_pods =
          std::any_of(rules.begin(), rules.end(), [](const auto& rule) { return std::get<1>(rule) == "pods"; });
      if (!of_pods) continue;
      const std::string name = entry.at("name");
      asked.insert(name.substr(0, name.find('.')));
      const std::string selector = entry.at("objectSelector").dump();
      const bool by_label =
          selector == json{{"matchExpressions", {{{"key", kQueueNameLabel}, {"operator", "Exists"}}}}}.dump() ||
          selector == json{{"matchExpressions", {{{"key", kGroupLabel}, {"operator", "Exists"}}}}}.dump();
      CHECK((by_label || !condition(entry, "suspended-by-parent").is_null()));
    }
    CHECK(asked.contains("queued-pods"));
    CHECK(asked.contains("suspended-pods"));
    CHECK(asked.size() == (kind == WebhookKind::kMutating ? 2 : 3));
  }
}

TEST_CASE("DELETE is never registered, since matchConditions read the object") {
  for (WebhookKind kind : kBoth) {
    for (const json& entry : webhook_entries(kind, everything(), {"team-a"}, "")) {
      for (const auto& [group, resource, operation] : registered(entry)) {
        const std::string what = group + " " + resource;
        INFO(what);
        CHECK((operation == "CREATE" || operation == "UPDATE"));
      }
    }
  }
}

TEST_CASE("every entry fails closed, answers dry runs and spares deletion and the control plane") {
  WebhookRegistration registration = everything();
  registration.own_namespace = "batch-gate";
  for (WebhookKind kind : kBoth) {
    const json entries = webhook_entries(kind, registration, {"kube-system", "team-a"}, "");
    REQUIRE(entries.size() == (kind == WebhookKind::kMutating ? 5 : 11));
    for (const json& entry : entries) {
      INFO(entry.at("name").get<std::string>());
      CHECK(entry.at("failurePolicy") == "Fail");
      CHECK(entry.at("sideEffects") == "None");
      CHECK(entry.at("timeoutSeconds") == 5);
      CHECK(entry.at("admissionReviewVersions") == json{"v1"});
      // What it lets pass: test/cases/deletion_test.cpp.
      CHECK(condition(entry, "more-than-its-deletion")
                .get<std::string>()
                .starts_with("!has(object.metadata.deletionTimestamp) || "));
      const json spared = json::parse(
          R"({"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system","batch-gate"]})");
      CHECK(entry.at("namespaceSelector").at("matchExpressions").back() == spared);
      CHECK(entry.contains("reinvocationPolicy") == (kind == WebhookKind::kMutating));
    }
  }
}

TEST_CASE("the entries follow the settings") {
  using Names = std::vector<std::string>;
  const auto of = [](const WebhookRegistration& registration, const std::vector<std::string>& namespaces) {
    return names(webhook_entries(WebhookKind::kMutating, registration, namespaces, ""));
  };
  WebhookRegistration registration;
  const std::string queued = "queued.mutate.muster.batch", own = "own.mutate.muster.batch",
                    workloads = "workloads.mutate.muster.batch";
  CHECK(of(registration, {}) == Names{queued, own, workloads});
  CHECK(of(registration, {"team-a"}) == Names{queued, "default.mutate.muster.batch", own, workloads});
  registration.manage_jobs_without_queue_name = true;
  CHECK(of(registration, {}) == Names{queued, "managed.mutate.muster.batch", own, workloads});
  registration.managed_namespaces = LabelSelector();
  CHECK(of(registration, {}) == Names{queued, own, workloads});
}

TEST_CASE("native mode sends every JobSet once and external mode only those with our keys") {
  const json external = webhook_entries(WebhookKind::kValidating, {}, {}, "");
  REQUIRE(external.size() == 9);
  CHECK(registered(external[0]).contains({"jobset.x-k8s.io", "jobsets", "CREATE"}));
  CHECK_FALSE(condition(external[0], "queued-or-gang").is_null());
  CHECK_FALSE(registered(entry_named(external, "own")).contains({"jobset.x-k8s.io", "jobsets", "CREATE"}));

  WebhookRegistration native;
  native.every_jobset = true;
  for (WebhookKind kind : kBoth) {
    const json entries = webhook_entries(kind, native, {}, "");
    REQUIRE(entries.size() == (kind == WebhookKind::kMutating ? 3 : 9));
    // Defaults and rules of JobSet's own webhook: on CREATE and on UPDATE.
    for (const char* operation : {"CREATE", "UPDATE"}) {
      CHECK_FALSE(registered(entries[0]).contains({"jobset.x-k8s.io", "jobsets", operation}));
      CHECK(registered(entry_named(entries, "own")).contains({"jobset.x-k8s.io", "jobsets", operation}));
    }
    CHECK(entry_named(entries, "own").at("matchConditions").size() == 1);
  }
}

TEST_CASE("queues and Workloads are always sent in the version that the rules know") {
  for (WebhookKind kind : kBoth) {
    const json entries = webhook_entries(kind, {}, {}, "");
    for (const char* resource : {"clusterqueues", "resourceflavors"}) {
      CHECK(registered(entry_named(entries, "own")).contains({"kueue.x-k8s.io", resource, "CREATE"}));
    }
    const json workloads = entry_named(entries, "workloads");
    CHECK(registered(workloads).contains({"kueue.x-k8s.io", "workloads", "CREATE"}));
    for (const json& entry : {entry_named(entries, "own"), workloads}) {
      for (const json& rule : entry.at("rules")) CHECK(rule.at("apiVersions") == json{"v1beta2"});
    }
  }
  const json validating = webhook_entries(WebhookKind::kValidating, {}, {}, "");
  CHECK(registered(entry_named(validating, "own")).contains({"kueue.x-k8s.io", "cohorts", "UPDATE"}));
  CHECK(registered(entry_named(validating, "workloads")).contains({"kueue.x-k8s.io", "workloads/status", "UPDATE"}));
}

TEST_CASE("the Jobs of JobSets are sent unless their controller writes them") {
  for (const bool native : {true, false}) {
    WebhookRegistration registration;
    registration.own_namespace = "batch-gate";
    registration.every_jobset = native;
    if (!native) registration.jobset_controller = "system:serviceaccount:sets:controller";
    CHECK(webhook_entries(WebhookKind::kMutating, registration, {}, "").size() == 3);
    const json children = entry_named(webhook_entries(WebhookKind::kValidating, registration, {}, ""), "children");
    CHECK(children.at("name") == "children.validate.muster.batch");
    CHECK(registered(children) == Asked{{"batch", "jobs", "CREATE"}, {"batch", "jobs", "UPDATE"}});
    for (const char* name : {"of-a-jobset", "not-sent-by-another-entry", "more-than-metadata"})
      CHECK_FALSE(condition(children, name).is_null());
    CHECK(condition(children, "not-by-muster") ==
          "request.userInfo.username != 'system:serviceaccount:batch-gate:muster'");
    const json spared = condition(children, "not-by-jobset-controller");
    CHECK(spared == (native ? json() : json("request.userInfo.username != 'system:serviceaccount:sets:controller'")));
  }
}

TEST_CASE("LocalQueues are sent only when they ask for a share or a protection that they did not have") {
  const json entry = entry_named(webhook_entries(WebhookKind::kValidating, {}, {}, ""), "local-queues");
  CHECK(registered(entry) ==
        Asked{{"kueue.x-k8s.io", "localqueues", "CREATE"}, {"kueue.x-k8s.io", "localqueues", "UPDATE"}});
  CHECK(entry.at("rules").at(0).at("scope") == "Namespaced");
  const std::string sent = condition(entry, "with-share-or-protection");
  CHECK(sent.starts_with("(has(object.spec) && has(object.spec.fairSharing) && "));
  CHECK(sent.find("'muster.batch/preemption-protection'") != std::string::npos);
}

TEST_CASE("WorkloadPriorityClasses are sent only when they say something of protection that they did not say") {
  const json entry = entry_named(webhook_entries(WebhookKind::kValidating, {}, {}, ""), "priority-classes");
  CHECK(registered(entry) == Asked{{"kueue.x-k8s.io", "workloadpriorityclasses", "CREATE"},
                                   {"kueue.x-k8s.io", "workloadpriorityclasses", "UPDATE"}});
  CHECK(entry.at("rules").at(0).at("scope") == "*");
  const std::string sent = condition(entry, "with-protection");
  for (const char* key : {"muster.batch/preemption-protection", "muster.batch/reclaim-protection",
                          "muster.batch/preemption-protection-limit"})
    CHECK(sent.find("'" + std::string(key) + "'") != std::string::npos);
}

TEST_CASE("muster is not asked about Workloads and ConfigMaps that it writes itself") {
  WebhookRegistration registration;
  registration.own_namespace = "batch-gate";
  const json entries = webhook_entries(WebhookKind::kValidating, registration, {}, "");
  for (const char* name : {"workloads", "gang-config-maps"}) {
    CHECK(condition(entry_named(entries, name), "not-by-muster") ==
          "request.userInfo.username != 'system:serviceaccount:batch-gate:muster'");
  }
  for (size_t i : {0u, 1u}) CHECK(condition(entries[i], "not-by-muster").is_null());
}

TEST_CASE("muster is not asked about jobs that it starts and stops, unless they start as a group") {
  WebhookRegistration registration;
  registration.own_namespace = "batch-gate";
  for (const auto kind : {WebhookKind::kMutating, WebhookKind::kValidating}) {
    const json entry = webhook_entries(kind, registration, {}, "").at(0);
    REQUIRE(entry.at("name").get<std::string>().starts_with("queued."));
    const std::string sent = condition(entry, "not-started-by-muster");
    CHECK(
        sent.starts_with("request.operation != 'UPDATE' || "
                         "request.userInfo.username != 'system:serviceaccount:batch-gate:muster' || "));
    for (const char* sign : {"'muster.batch/'", "groupSchedulingConfig", "'muster.batch/group-scheduling'"})
      CHECK(sent.find(sign) != std::string::npos);
  }
}

TEST_CASE("Workloads are sent only where a rule has something to look at") {
  const json mutating = webhook_entries(WebhookKind::kMutating, {}, {}, "").back();
  const json validating = entry_named(webhook_entries(WebhookKind::kValidating, {}, {}, ""), "workloads");
  CHECK_FALSE(condition(mutating, "with-min-count").is_null());
  CHECK_FALSE(condition(validating, "more-than-conditions").is_null());
  CHECK(condition(validating, "with-min-count").is_null());
  // What these expressions leave out is a rule's business no more: the golden cases (test/cases/sent_test.cpp) see that
  // no rule is hidden.
}

TEST_CASE("pods are sent only with the label of gangs and never those of the Job controller") {
  const json entry = entry_named(webhook_entries(WebhookKind::kValidating, {}, {}, ""), "gang-pods");
  CHECK(registered(entry) == Asked{{"", "pods", "CREATE"}, {"", "pods", "UPDATE"}});
  CHECK(entry.at("rules").at(0).at("scope") == "Namespaced");
  CHECK(entry.at("objectSelector") ==
        json::parse(R"({"matchExpressions":[{"key":"muster.batch/group-scheduling","operator":"Exists"}]})"));
  CHECK(condition(entry, "not-by-the-job-controller") ==
        "!(request.userInfo.username in ['system:serviceaccount:kube-system:job-controller', "
        "'system:kube-controller-manager'])");
}

TEST_CASE("of ConfigMaps only those that a start barrier may wait for are sent") {
  const json entry = entry_named(webhook_entries(WebhookKind::kValidating, {}, {}, ""), "gang-config-maps");
  CHECK(registered(entry) == Asked{{"", "configmaps", "CREATE"}, {"", "configmaps", "UPDATE"}});
  CHECK(condition(entry, "named-as-of-a-gang") == "object.metadata.name.endsWith('-group-scheduling')");
}

TEST_CASE("where no job starts as a group nothing of groups is sent") {
  WebhookRegistration registration;
  registration.group_scheduling = false;
  const json entries = webhook_entries(WebhookKind::kValidating, registration, {}, "");
  for (const char* name : {"gang-pods", "gang-config-maps"}) CHECK(entry_named(entries, name).is_null());
}

TEST_CASE("a JobSet is sent for its barrier too, which a CRD does not prune") {
  const json queued = webhook_entries(WebhookKind::kMutating, {}, {}, "").at(0);
  const std::string expression = condition(queued, "queued-or-gang");
  for (const char* subject : {"object", "oldObject"})
    CHECK(expression.find(std::string(subject) + ".spec.replicatedJobs.exists(r,") != std::string::npos);
}

TEST_CASE("the managed entry carries the configured namespace selector") {
  WebhookRegistration registration;
  registration.manage_jobs_without_queue_name = true;
  const auto selector = LabelSelector::parse(json::parse(R"({"matchLabels":{"team":"a"},"matchExpressions":[
      {"key":"env","operator":"NotIn","values":["dev","test"]},{"key":"batch","operator":"Exists"},
      {"key":"frozen","operator":"DoesNotExist"}]})"));
  REQUIRE(selector.ok());
  registration.managed_namespaces = *selector;
  const json entries = webhook_entries(WebhookKind::kMutating, registration, {}, "");
  std::set<json> requirements;
  for (const json& one : entries.at(1).at("namespaceSelector").at("matchExpressions")) requirements.insert(one);
  CHECK(requirements == std::set<json>{
                            json::parse(R"({"key":"team","operator":"In","values":["a"]})"),
                            json::parse(R"({"key":"env","operator":"NotIn","values":["dev","test"]})"),
                            json::parse(R"({"key":"batch","operator":"Exists"})"),
                            json::parse(R"({"key":"frozen","operator":"DoesNotExist"})"),
                            json::parse(R"({"key":"kubernetes.io/metadata.name","operator":"NotIn",
                                           "values":["kube-system","muster-system"]})"),
                        });
}

TEST_CASE("the default entry names the namespaces that have a default LocalQueue") {
  const json entries = webhook_entries(WebhookKind::kMutating, {}, {"team-a", "team-b"}, "");
  CHECK(entries.at(1).at("namespaceSelector").at("matchExpressions").at(0) ==
        json::parse(R"({"key":"kubernetes.io/metadata.name","operator":"In","values":["team-a","team-b"]})"));
}

TEST_CASE("the API server is told a Service or a URL, one path per webhook, and the bundle") {
  WebhookRegistration registration;
  registration.service = "gate";
  registration.own_namespace = "batch";
  const json by_service = webhook_entries(WebhookKind::kMutating, registration, {}, "PEM").at(0).at("clientConfig");
  CHECK(by_service.at("service") == json::parse(R"({"name":"gate","namespace":"batch","path":"/mutate","port":443})"));
  CHECK(by_service.at("caBundle") == base64_encode("PEM"));
  CHECK_FALSE(by_service.contains("url"));

  registration.url = "https://10.0.0.5:9443";
  const json by_url = webhook_entries(WebhookKind::kValidating, registration, {}, "").at(0).at("clientConfig");
  CHECK(by_url == json{{"url", "https://10.0.0.5:9443/validate"}});
}

TEST_CASE("entries have unique names that the API server accepts") {
  for (WebhookKind kind : kBoth) {
    std::set<std::string> seen;
    for (const std::string& name : names(webhook_entries(kind, everything(), {"team-a"}, ""))) {
      INFO(name);
      CHECK(seen.insert(name).second);
      CHECK(std::count(name.begin(), name.end(), '.') >= 2);
    }
  }
}

}  // namespace webhooks_test
