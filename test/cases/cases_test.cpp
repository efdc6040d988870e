// Golden cases: each YAML file below test/cases is one request and what becomes of
// it. Keys:
//
//   description  a sentence, what the case shows
//   operation    CREATE or UPDATE
//   object       the object as sent; oldObject on UPDATE
//   subresource  status (optional)
//   user, uid    who sends it, and the request's uid (both optional)
//   settings     manageJobsWithoutQueueName, managedJobsNamespaceSelector, frameworks,
//                featureGates, suspendGuard, admitters, waiterImage, nativeJobSets,
//                jobSetFeatureGates, groupScheduling, denyUnqueued (all optional)
//   view         objects that are in the cluster
//   expect       object (the whole of it after mutation), or patch (operations), or
//                errors ("field: message", any order), or refused (the message);
//                beside these, warnings
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "jobs/job_kind.h"
#include "mutators/mutator.h"
#include "test/support/vectors.h"
#include "validators/validator.h"

using namespace muster;
using nlohmann::json;

namespace {

struct Case {
  std::string file;
  json content;
  AdmissionRequest request;
  RuleSettings settings;
  ClusterView view;

  const json& expect() const { return content.at("expect"); }
  Review review() const { return {request, view, settings}; }
};

void check_keys(const json& object, const std::set<std::string>& known) {
  for (const auto& item : object.items()) CHECK_MESSAGE(known.contains(item.key()), "unknown key ", item.key());
}

std::set<std::string, std::less<>> names_in(const json& list) {
  std::set<std::string, std::less<>> names;
  for (const json& name : list) names.insert(name.get<std::string>());
  return names;
}

RuleSettings settings_of(const json& wanted) {
  check_keys(wanted, {"manageJobsWithoutQueueName", "managedJobsNamespaceSelector", "frameworks", "featureGates",
                      "suspendGuard", "admitters", "waiterImage", "nativeJobSets", "jobSetFeatureGates",
                      "groupScheduling", "denyUnqueued", "externalFrameworks", "ownName"});
  RuleSettings settings;
  settings.manage_jobs_without_queue_name = wanted.value("manageJobsWithoutQueueName", false);
  if (wanted.contains("managedJobsNamespaceSelector")) {
    settings.managed_jobs_namespace_selector = LabelSelector::parse(wanted["managedJobsNamespaceSelector"]).value();
  }
  if (wanted.contains("frameworks")) settings.frameworks = names_in(wanted["frameworks"]);
  settings.external_frameworks = names_in(wanted.value("externalFrameworks", json::array()));
  settings.feature_gates = wanted.value("featureGates", std::map<std::string, bool, std::less<>>());
  if (wanted.contains("suspendGuard")) {
    const bool observe = wanted["suspendGuard"] == "observe";
    CHECK((observe || wanted["suspendGuard"] == "enforce"));
    settings.suspend_guard = observe ? SuspendGuard::kObserve : SuspendGuard::kEnforce;
  }
  settings.own_name = wanted.value("ownName", "");
  settings.admitters = names_in(wanted.value("admitters", json::array()));
  settings.waiter.image = wanted.value("waiterImage", settings.waiter.image);
  settings.waiter.shell_loop = wanted.contains("waiterImage");
  settings.group_scheduling = wanted.value("groupScheduling", true);
  settings.deny_unqueued = wanted.value("denyUnqueued", false);
  settings.native_jobsets = wanted.value("nativeJobSets", false);
  settings.jobset_feature_gates = wanted.value("jobSetFeatureGates", std::map<std::string, bool, std::less<>>());
  return settings;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

AdmissionRequest request_of(const json& content) {
  AdmissionRequest request;
  request.uid = content.value("uid", "00000000-0000-0000-0000-000000000001");
  request.user.username = content.value("user", "alice");
  request.operation = parse_operation(content.at("operation").get<std::string>()).value();
  request.object = content.at("object");
  request.old_object = content.value("oldObject", json());
  request.group = group_of(string_at(request.object, {"apiVersion"}));
  request.kind = string_at(request.object, {"kind"});
  if (const JobKind* kind = find_job_kind(request.group, request.kind)) {
    request.version = kind->type.version;
    request.resource = kind->type.resource();
  } else if (request.group.empty()) {
    request.version = "v1";
    request.resource = lower_case(request.kind) + "s";
  } else if (request.group == "kueue.x-k8s.io") {
    request.version = "v1beta2";
    request.resource = lower_case(request.kind) + (request.kind.ends_with("s") ? "es" : "s");
  }
  request.sub_resource = content.value("subresource", "");
  request.namespace_ = string_at(request.object, {"metadata", "namespace"});
  request.name = string_at(request.object, {"metadata", "name"});
  return request;
}

Case read_case(const std::string& file) {
  INFO(file);
  auto documents = read_yaml(test::read_source_file(file));
  REQUIRE_MESSAGE(documents.ok(), documents.error().line, ":", documents.error().column, ": ",
                  documents.error().message);
  REQUIRE(documents->size() == 1);
  json content = documents->front().value;
  check_keys(content, {"description", "operation", "object", "oldObject", "subresource", "user", "uid", "settings",
                       "view", "expect"});
  check_keys(content.at("expect"), {"object", "patch", "errors", "refused", "warnings"});
  CHECK(content.at("description").get<std::string>().ends_with("."));

  ClusterView view;
  for (const json& object : content.value("view", json::array())) view.put(object);
  AdmissionRequest request = request_of(content);
  RuleSettings settings = settings_of(content.value("settings", json::object()));
  return {file, std::move(content), std::move(request), std::move(settings), std::move(view)};
}

std::vector<Case> read_cases() {
  const std::filesystem::path root(MUSTER_SOURCE_DIR);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "test/cases")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().lexically_relative(root).string());
  }
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  std::vector<Case> cases;
  for (const std::string& file : files) cases.push_back(read_case(file));
  return cases;
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::vector<std::string> expected_texts(const json& expect, const char* key) {
  return sorted(expect.value(key, std::vector<std::string>()));
}

// Compared as one text, so that a failure shows what was said.
std::string joined(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& line : texts) text += line + "\n";
  return text;
}

bool applies(const Mutator& mutator, const AdmissionRequest& request) {
  const auto& operations = mutator.operations;
  return std::find(operations.begin(), operations.end(), request.operation) != operations.end() &&
         std::any_of(mutator.matches.begin(), mutator.matches.end(), [&](const RuleMatch& match) {
           return match.group == request.group && match.resource == request.resource;
         });
}

// Checks what the case expects; the object as it is after mutation, for the validators.
void check_case(const Case& golden, RuleObserver* observer = nullptr) {
  const json& expect = golden.expect();
  const bool says_something = expect.contains("object") || expect.contains("patch") || expect.contains("errors") ||
                              expect.contains("refused") || expect.contains("warnings");
  CHECK(says_something);

  const AdmissionResponse mutated = mutate(golden.review(), observer);
  CHECK(mutated.is_allowed() == !expect.contains("refused"));
  if (!mutated.is_allowed()) {
    CHECK(mutated.message() == expect.value("refused", ""));
    return;
  }
  if (expect.contains("patch")) CHECK(mutated.patch() == expect["patch"]);

  AdmissionRequest request = golden.request;
  request.object = request.object.patch(mutated.patch());
  if (expect.contains("object")) CHECK(request.object == expect["object"]);

  const Review review{request, golden.view, golden.settings};
  CHECK_MESSAGE(mutate(review).patch().empty(), "a second pass through the chain changes the object again");

  const AdmissionResponse validated = validate(review, observer);
  std::vector<std::string> errors;
  for (const FieldError& error : validated.errors()) errors.push_back(error.text());
  CHECK(joined(sorted(errors)) == joined(expected_texts(expect, "errors")));
  CHECK(validated.is_allowed() == errors.empty());
  CHECK(joined(sorted(validated.warnings())) == joined(expected_texts(expect, "warnings")));
}

// Which rules did something, over all cases.
class Witness : public RuleObserver {
 public:
  void started(std::string_view) override {}
  void finished(std::string_view rule, RuleOutcome outcome) override {
    if (outcome == RuleOutcome::kChanged || outcome == RuleOutcome::kRejected) active_.insert(rule);
  }
  bool saw(std::string_view rule) const { return active_.contains(rule); }

 private:
  std::set<std::string_view> active_;
};

}  // namespace

TEST_CASE("every golden case ends as its file says") {
  for (const Case& golden : read_cases()) {
    INFO(golden.file, ": ", golden.content.at("description").get<std::string>());
    check_case(golden);
  }
}

TEST_CASE("every mutator run twice on a golden case changes nothing the second time") {
  for (const Case& golden : read_cases()) {
    for (const Mutator* mutator : mutator_chain()) {
      if (!applies(*mutator, golden.request)) continue;
      INFO(golden.file, ": ", mutator->name);
      json object = golden.request.object;
      if (mutator->mutate(golden.review(), object)) continue;
      const json once = object;
      CHECK_FALSE(mutator->mutate(golden.review(), object).has_value());
      CHECK(object == once);
    }
  }
}

// A review is answered to whoever reaches the port, so it must not tell of tenants that it does
// not name.
TEST_CASE("what is in other namespaces changes no answer") {
  for (const Case& golden : read_cases()) {
    INFO(golden.file);
    Case crowded = golden;
    for (const char* name : {"default", "queue", "train", "parent", "gone", "some"}) {
      const json metadata = {{"name", name}, {"namespace", "elsewhere"}, {"uid", name}};
      json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", metadata}, {"spec", json::object()}};
      crowded.view.put(job);
      crowded.view.put({{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}, {"metadata", metadata}});
      crowded.view.put({{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "LocalQueue"}, {"metadata", metadata}});
      crowded.view.put({{"apiVersion", "v1"}, {"kind", "LimitRange"}, {"metadata", metadata}});
    }
    check_case(crowded);
  }
}

TEST_CASE("every rule is seen at work by some golden case") {
  Witness witness;
  for (const Case& golden : read_cases()) {
    INFO(golden.file);
    check_case(golden, &witness);
  }
  for (const Mutator* mutator : mutator_chain()) CHECK_MESSAGE(witness.saw(mutator->name), mutator->name);
  for (const Validator* validator : all_validators()) CHECK_MESSAGE(witness.saw(validator->name), validator->name);
}
