#include "test/cases/golden_cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "jobs/job_kind.h"
#include "test/support/recorded_gates.h"
#include "test/support/vectors.h"

namespace muster::test {
namespace {

using nlohmann::json;

void check_keys(const json& object, const std::set<std::string>& known) {
  for (const auto& item : object.items()) CHECK_MESSAGE(known.contains(item.key()), "unknown key ", item.key());
}

std::set<std::string, std::less<>> names_in(const json& list) {
  std::set<std::string, std::less<>> names;
  for (const json& name : list) names.insert(name.get<std::string>());
  return names;
}

RuleSettings settings_of(const json& wanted) {
  check_keys(wanted,
             {"manageJobsWithoutQueueName", "managedJobsNamespaceSelector", "frameworks", "featureGates",
              "suspendGuard", "admitters", "waiterImage", "nativeJobSets", "jobSetFeatureGates", "groupScheduling",
              "denyUnqueued", "externalFrameworks", "ownName", "jobSetController", "recordSubmitter"});
  RuleSettings settings;
  settings.manage_jobs_without_queue_name = wanted.value("manageJobsWithoutQueueName", false);
  if (wanted.contains("managedJobsNamespaceSelector")) {
    settings.managed_jobs_namespace_selector = LabelSelector::parse(wanted["managedJobsNamespaceSelector"]).value();
  }
  if (wanted.contains("frameworks")) settings.frameworks = names_in(wanted["frameworks"]);
  settings.external_frameworks = names_in(wanted.value("externalFrameworks", json::array()));
  set_named_gates(wanted, settings.feature_gates);
  if (wanted.contains("suspendGuard")) {
    const bool observe = wanted["suspendGuard"] == "observe";
    CHECK((observe || wanted["suspendGuard"] == "enforce"));
    settings.suspend_guard = observe ? SuspendGuard::kObserve : SuspendGuard::kEnforce;
  }
  settings.own_name = wanted.value("ownName", "");
  settings.admitters = names_in(wanted.value("admitters", json::array()));
  settings.jobset_controller = wanted.value("jobSetController", "");
  settings.waiter.image = wanted.value("waiterImage", settings.waiter.image);
  settings.waiter.shell_loop = wanted.contains("waiterImage");
  settings.group_scheduling = wanted.value("groupScheduling", true);
  settings.deny_unqueued = wanted.value("denyUnqueued", false);
  settings.record_submitter = wanted.value("recordSubmitter", false);
  if (wanted.value("nativeJobSets", false)) settings.jobset_mode = JobSetMode::kNative;
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
  if (const jobs::JobKind* kind = jobs::find_job_kind(request.group, request.kind)) {
    request.version = kind->type.version;
    request.resource = kind->type.plural;
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

GoldenCase read_case(const std::string& file) {
  INFO(file);
  auto documents = read_yaml(read_source_file(file));
  REQUIRE_MESSAGE(documents.ok(), documents.error().line, ":", documents.error().column, ": ",
                  documents.error().message);
  REQUIRE(documents->size() == 1);
  json content = documents->front().value;
  check_keys(content, {"description", "operation", "object", "oldObject", "subresource", "user", "uid", "settings",
                       "view", "namespaceLabels", "laterWebhook", "expect"});
  check_keys(content.at("expect"), {"object", "patch", "errors", "refused", "warnings"});
  CHECK(content.at("description").get<std::string>().ends_with("."));

  ClusterView view;
  for (const json& object : content.value("view", json::array())) view.put(object);
  AdmissionRequest request = request_of(content);
  RuleSettings settings = settings_of(content.value("settings", json::object()));
  return {file, std::move(content), std::move(request), std::move(settings), std::move(view)};
}

}  // namespace

AdmissionRequest GoldenCase::mutated_by(const AdmissionResponse& answer) const {
  AdmissionRequest mutated = request;
  mutated.object = mutated.object.patch(answer.patch());
  if (content.contains("laterWebhook")) mutated.object.merge_patch(content["laterWebhook"]);
  return mutated;
}

std::vector<GoldenCase> read_golden_cases() {
  const std::filesystem::path root(MUSTER_SOURCE_DIR);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "test/cases")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().lexically_relative(root).string());
  }
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  std::vector<GoldenCase> cases;
  for (const std::string& file : files) cases.push_back(read_case(file));
  return cases;
}

}  // namespace muster::test
