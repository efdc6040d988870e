// The driver of the mutating webhook. What each mutator does is in test/cases.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mutators/mutator.h"
#include "test/support/admission_requests.h"

namespace chain_test {

using namespace muster;
using namespace muster::mutators;
using muster::test::request_for;
using nlohmann::json;

namespace {

json queued_job() {
  return json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "train", "namespace": "team-a", "labels": {"kueue.x-k8s.io/queue-name": "research"}},
      "spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}})");
}

class Log : public RuleObserver {
 public:
  void started(std::string_view rule) override { open = rule; }
  void finished(std::string_view rule, RuleOutcome outcome) override {
    CHECK(open == rule);
    entries.emplace_back(rule, outcome);
  }
  RuleOutcome outcome_of(std::string_view rule) const {
    for (const auto& [name, outcome] : entries) {
      if (name == rule) return outcome;
    }
    FAIL_CHECK("no such entry: ", rule);
    return RuleOutcome::kAllowed;
  }

  std::string_view open;
  std::vector<std::pair<std::string, RuleOutcome>> entries;
};

const ClusterView kEmptyView;
const RuleSettings kSettings;

}  // namespace

TEST_CASE("the patch is the difference that all mutators made together") {
  ClusterView view;
  view.put(json::parse(R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
      "metadata": {"name": "default", "namespace": "team-a"}, "spec": {"clusterQueue": "all"}})"));
  json object = queued_job();
  object["metadata"].erase("labels");
  const AdmissionRequest request = request_for(object);
  const AdmissionResponse response = mutate({request, view, kSettings});
  CHECK(response.is_allowed());
  CHECK(response.patch() == json::parse(R"([
      {"op": "add", "path": "/metadata/labels", "value": {"kueue.x-k8s.io/queue-name": "default"}},
      {"op": "add", "path": "/spec/suspend", "value": true}])"));
}

TEST_CASE("an observer hears what each mutator did in the order of the chain") {
  const AdmissionRequest request = request_for(queued_job());
  Log log;
  mutate({request, kEmptyView, kSettings}, &log);
  std::vector<std::string> expected;
  for (const Mutator* mutator : mutator_chain()) {
    if (applies(mutator->matches, mutator->operations, request)) expected.emplace_back(mutator->name);
  }
  std::vector<std::string> heard;
  for (const auto& [name, outcome] : log.entries) heard.push_back(name);
  CHECK(heard == expected);
  CHECK(log.outcome_of("default_local_queue") == RuleOutcome::kUnchanged);
  CHECK(log.outcome_of("suspend") == RuleOutcome::kChanged);
  CHECK(log.outcome_of("multikueue_managed_by") == RuleOutcome::kUnchanged);
}

TEST_CASE("a mutator that cannot go on refuses the request and ends the chain") {
  json object = queued_job();
  object["metadata"]["ownerReferences"] = json::parse(
      R"([{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "gone", "uid": "u", "controller": true}])");
  const AdmissionRequest request = request_for(object);
  Log log;
  const AdmissionResponse response = mutate({request, kEmptyView, kSettings}, &log);
  CHECK_FALSE(response.is_allowed());
  CHECK(response.code() == 403);
  CHECK(response.message() == "jobsets.jobset.x-k8s.io \"gone\" not found");
  CHECK(response.patch().empty());
  REQUIRE_FALSE(log.entries.empty());
  CHECK(log.entries.back() == std::pair<std::string, RuleOutcome>("suspend", RuleOutcome::kRejected));
}

TEST_CASE("what time will answer is refused as unavailable") {
  RuleSettings settings;
  settings.manage_jobs_without_queue_name = true;
  settings.managed_jobs_namespace_selector = LabelSelector::parse(json{{"matchLabels", {{"managed", "yes"}}}}).value();
  json object = queued_job();
  object["metadata"].erase("labels");
  const AdmissionRequest request = request_for(object);
  const AdmissionResponse response = mutate({request, kEmptyView, settings});
  CHECK_FALSE(response.is_allowed());
  CHECK(response.code() == 503);
}

TEST_CASE("requests that are no business of the chain pass untouched") {
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
         std::swap(request.object, request.old_object);
       }},
      {"an update of an object that is being deleted",
       [](AdmissionRequest& request) {
         request.operation = Operation::kUpdate;
         request.old_object = request.object;
         request.object["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
       }},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    AdmissionRequest request = request_for(queued_job());
    row.change(request);
    Log log;
    const AdmissionResponse response = mutate({request, kEmptyView, kSettings}, &log);
    CHECK(response.is_allowed());
    CHECK(response.patch().empty());
    CHECK(log.entries.empty());
  }
}

TEST_CASE("the chain suspends before it injects and asks for the queue first of all") {
  std::vector<std::string_view> names;
  for (const Mutator* mutator : mutator_chain()) names.push_back(mutator->name);
  const auto place = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  CHECK(place("default_local_queue") < place("default_priority_class"));
  CHECK(place("default_local_queue") < place("suspend"));
  CHECK(place("default_local_queue") < place("record_submitter"));
  CHECK(place("default_local_queue") < place("multikueue_managed_by"));
  CHECK(place("suspend") < place("group_scheduling_inject"));
  CHECK(place("group_scheduling_keep") < std::ssize(names));
}

}  // namespace chain_test
