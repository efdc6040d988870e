// The driver of the validating webhook. What each rule says is in test/cases.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "test/support/admission_requests.h"
#include "validators/validator.h"

namespace validate_test {

using namespace muster;
using namespace muster::validators;
using muster::test::request_for;
using nlohmann::json;

namespace {

// Two rules object to it: the queue's name and the execution time.
json bad_job() {
  return json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "train", "namespace": "team-a", "labels": {
          "kueue.x-k8s.io/queue-name": "Bad", "kueue.x-k8s.io/max-exec-time-seconds": "0"}},
      "spec": {"suspend": true, "template": {"spec": {"containers": [{"name": "main"}]}}}})");
}

class Log : public RuleObserver {
 public:
  void started(std::string_view rule) override { open = rule; }
  void finished(std::string_view rule, RuleOutcome outcome) override {
    CHECK(open == rule);
    outcomes[std::string(rule)] = outcome;
  }
  std::string_view open;
  std::map<std::string, RuleOutcome> outcomes;
};

const ClusterView kEmptyView;
const RuleSettings kSettings;

}  // namespace

TEST_CASE("every rule's errors are collected and every rule that ran is reported") {
  const AdmissionRequest request = request_for(bad_job());
  Log log;
  const AdmissionResponse response = validate({request, kEmptyView, kSettings}, &log);
  CHECK_FALSE(response.is_allowed());
  CHECK(response.errors().size() == 2);
  CHECK(log.outcomes.at("queue_name_format") == RuleOutcome::kRejected);
  CHECK(log.outcomes.at("max_execution_time_format") == RuleOutcome::kRejected);
  CHECK(log.outcomes.at("topology_request") == RuleOutcome::kAllowed);
  CHECK_FALSE(log.outcomes.contains("queue_name_immutable"));
}

TEST_CASE("requests that are no business of the rules are allowed") {
  struct Row {
    std::string name;
    void (*change)(AdmissionRequest&);
  };
  const Row rows[] = {
      {"another resource", [](AdmissionRequest& request) { request.resource = "cronjobs"; }},
      {"another group", [](AdmissionRequest& request) { request.group = "example.com"; }},
      {"a subresource", [](AdmissionRequest& request) { request.sub_resource = "status"; }},
      {"a deletion",
       [](AdmissionRequest& request) {
         request.operation = Operation::kDelete;
         request.object = nullptr;
       }},
      {"an update of an object that is being deleted",
       [](AdmissionRequest& request) { request.object["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"; }},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    AdmissionRequest request = request_for(bad_job(), bad_job());
    row.change(request);
    Log log;
    CHECK(validate({request, kEmptyView, kSettings}, &log).is_allowed());
    CHECK(log.outcomes.empty());
  }
}

TEST_CASE("what an update leaves as it was may stay") {
  const auto errors_in = [](const json& object) {
    FieldErrors errors;
    for (const json& name : object) errors.push_back(forbidden("spec." + name.get<std::string>(), "not here"));
    return errors;
  };
  struct Row {
    std::string name;
    Operation operation;
    json before, after;
    std::vector<std::string> fields;
  };
  const Row rows[] = {
      {"of a new object everything counts", Operation::kCreate, {"a"}, {"a", "b"}, {"spec.a", "spec.b"}},
      {"of a changed one what has come", Operation::kUpdate, {"a"}, {"a", "b"}, {"spec.b"}},
      {"an unchanged one is left alone", Operation::kUpdate, {"a"}, {"a"}, {}},
      {"what has gone is no error", Operation::kUpdate, {"a", "b"}, {"b"}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    AdmissionRequest request = request_for(kJobs, row.after, row.before);
    request.operation = row.operation;
    std::vector<std::string> fields;
    for (const FieldError& error : new_errors({request, kEmptyView, kSettings}, errors_in))
      fields.push_back(error.field);
    CHECK(fields == row.fields);
  }
}

TEST_CASE("a deletionTimestamp on CREATE opens no way around the rules") {
  json object = bad_job();
  object["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  const AdmissionRequest request = request_for(object);
  CHECK_FALSE(validate({request, kEmptyView, kSettings}).is_allowed());
}

TEST_CASE("warnings come with an allowed request and do not distract from a refusal") {
  RuleSettings settings;
  settings.suspend_guard = SuspendGuard::kObserve;
  json object = bad_job();
  object["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "research"}};
  AdmissionRequest request = request_for(object, object);
  request.object["spec"]["suspend"] = false;
  const AdmissionResponse allowed = validate({request, kEmptyView, settings});
  CHECK(allowed.is_allowed());
  CHECK(allowed.warnings().size() == 1);

  request.object["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "0";
  const AdmissionResponse refused = validate({request, kEmptyView, settings});
  CHECK_FALSE(refused.is_allowed());
  CHECK(refused.warnings().empty());
}

TEST_CASE("every rule of JobSet's webhook and schema is 422, as JobSet answers") {
  RuleSettings native;
  native.jobset_mode = JobSetMode::kNative;
  for (const Validator* validator : all_validators()) {
    INFO(std::string(validator->name));
    const bool only_native = !validator->is_in_force(RuleSettings{});
    if (only_native) CHECK(validator->origin != RuleOrigin::kWebhook);
    CHECK((validator->origin != RuleOrigin::kJobSet || only_native));
    CHECK(validator->is_in_force(native));
  }
}

TEST_CASE("a refusal is 403 as from Kueue's webhook, and 422 where Kueue's schema or only muster has the rule") {
  const auto code = [](const char* kind, const char* resource, const char* spec) {
    AdmissionRequest request = request_for(kJobs, {{"spec", json::parse(spec)}});
    request.group = "kueue.x-k8s.io";
    request.kind = kind;
    request.resource = resource;
    const AdmissionResponse response = validate({request, kEmptyView, kSettings});
    REQUIRE_FALSE(response.is_allowed());
    const json status = json::parse(response.encode())["response"]["status"];
    CHECK(status["code"] == response.code());
    CHECK(status["reason"] == (response.code() == 403 ? "Forbidden" : "Invalid"));
    CHECK(status["details"]["causes"].size() == response.errors().size());
    return response.code();
  };
  const auto queue = [&](const char* quota) {
    const std::string spec = std::string(R"({"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
        {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4", )") +
                             quota + "}]}]}]}";
    return code("ClusterQueue", "clusterqueues", spec.c_str());
  };
  CHECK(queue(R"("lendingLimit": "1")") == 403);
  CHECK(queue(R"("borrowingLimit": "1")") == 422);
  CHECK(queue(R"("lendingLimit": "1", "borrowingLimit": "1")") == 422);
  CHECK(code("ResourceFlavor", "resourceflavors", R"({"nodeTaints": [{"key": "-", "effect": "NoSchedule"}]})") == 403);
  CHECK(code("ResourceFlavor", "resourceflavors", R"({"nodeTaints": [{"key": "a", "effect": "Never"}]})") == 422);
  CHECK(code("ResourceFlavor", "resourceflavors",
             R"({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]})") == 422);
  const AdmissionRequest job = request_for(bad_job());
  CHECK(validate({job, kEmptyView, kSettings}).code() == 403);
}

TEST_CASE("the rule of each error is named") {
  const AdmissionRequest request = request_for(bad_job());
  std::vector<std::string_view> rules;
  const AdmissionResponse response = validate_naming_rules({request, kEmptyView, kSettings}, rules);
  REQUIRE(rules.size() == response.errors().size());
  CHECK(rules == std::vector<std::string_view>{"max_execution_time_format", "queue_name_format"});
}

}  // namespace validate_test
