// What an object's deletion needs never waits for muster, and nothing else of the object is free during that time: the
// webhook entries and the rules agree about it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/review/deletion.h"
#include "manifests/webhooks.h"
#include "mutators/mutator.h"
#include "test/cases/webhook_filter.h"
#include "validators/validator.h"

namespace deletion_test {

using namespace muster;
using nlohmann::json;

namespace {

struct Subject {
  const char* group;
  const char* version;
  const char* kind;
  const char* resource;
  const char* sub_resource;
  json content;
};

// One of each entry; of a job that no label marks, of a kind without spec, and of a status.
const Subject kSubjects[] = {
    {"", "v1", "ConfigMap", "configmaps", "", {{"data", {{"started", ""}}}}},
    {"", "v1", "Pod", "pods", "", {{"spec", {{"nodeName", "a"}}}}},
    {"batch", "v1", "Job", "jobs", "", {{"spec", {{"suspend", true}}}}},
    {"kubeflow.org", "v1", "TFJob", "tfjobs", "", {{"spec", {{"runPolicy", {{"suspend", true}}}}}}},
    {"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", "", {{"spec", {{"suspend", true}}}}},
    {"kueue.x-k8s.io", "v1beta2", "ResourceFlavor", "resourceflavors", "", {{"spec", {{"nodeLabels", {{"a", "b"}}}}}}},
    {"kueue.x-k8s.io", "v1beta2", "Workload", "workloads", "", {{"spec", {{"active", true}}}}},
    {"kueue.x-k8s.io",
     "v1beta2",
     "Workload",
     "workloads",
     "status",
     {{"status", {{"reclaimablePods", json::array({1})}}}}},
};

AdmissionRequest request_of(const Subject& subject) {
  AdmissionRequest request;
  request.operation = Operation::kUpdate;
  request.group = subject.group;
  request.version = subject.version;
  request.kind = subject.kind;
  request.resource = subject.resource;
  request.sub_resource = subject.sub_resource;
  request.namespace_ = "team-a";
  request.name = "train-group-scheduling";
  request.user.username = "mallory";
  request.object = subject.content;
  request.object["metadata"] = {{"name", "train-group-scheduling"},
                                {"labels",
                                 {{"kueue.x-k8s.io/queue-name", "q"},
                                  {"muster.batch/group-scheduling", "true"},
                                  {"kueue.x-k8s.io/managed", "true"}}},
                                {"annotations", {{"kueue.x-k8s.io/x", "1"}, {"example.com/note", "1"}}},
                                {"finalizers", json::array({"example.com/mine"})},
                                {"deletionTimestamp", "2026-01-01T12:00:00Z"}};
  request.old_object = request.object;
  return request;
}

size_t entries_asked(const AdmissionRequest& request) {
  manifests::WebhookRegistration registration;
  registration.every_jobset = true;
  registration.frameworks = {"kubeflow.org/tfjob", "pod"};
  const test::SentBy sent = test::entries_that_send(
      manifests::webhook_entries(manifests::WebhookKind::kValidating, registration, {}, ""), request, {});
  for (const std::string& error : sent.errors) CHECK_MESSAGE(false, error);
  return sent.entries.size();
}

}  // namespace

TEST_CASE("deletion: finalizers go without muster, and all else is asked about as before") {
  struct Row {
    const char* name;
    bool is_free;
    void (*change)(json& object);
  };
  const Row rows[] = {
      {"nothing", true, [](json&) {}},
      {"a finalizer goes", true, [](json& object) { object["metadata"].erase("finalizers"); }},
      {"an annotation of others", true, [](json& object) { object["metadata"]["annotations"]["kubectl.x/y"] = "z"; }},
      {"an annotation of others goes", true,
       [](json& object) { object["metadata"]["annotations"].erase("example.com/note"); }},
      {"an annotation of ours", false,
       [](json& object) { object["metadata"]["annotations"]["kueue.x-k8s.io/x"] = "2"; }},
      {"an annotation of ours goes", false,
       [](json& object) { object["metadata"]["annotations"].erase("kueue.x-k8s.io/x"); }},
      {"a label", false, [](json& object) { object["metadata"]["labels"]["job-name"] = "another"; }},
      {"the labels go", false, [](json& object) { object["metadata"].erase("labels"); }},
      {"an owner", false,
       [](json& object) {
         object["metadata"]["ownerReferences"] = json::array({{{"uid", "u"}, {"kind", "Job"}}});
       }},
      {"another member", false,
       [](json& object) {
         object["binaryData"] = {{"started", "eA=="}};
       }},
      {"the content", false,
       [](json& object) {
         for (auto& [key, value] : object.items()) {
           if (key != "metadata") value["more"] = "x";
         }
       }},
      {"the content goes", false,
       [](json& object) {
         object = {{"metadata", object["metadata"]}};
       }},
  };
  for (const Subject& subject : kSubjects) {
    for (const Row& row : rows) {
      INFO(subject.kind, " ", subject.sub_resource, ": ", row.name);
      AdmissionRequest request = request_of(subject);
      row.change(request.object);
      CHECK(is_step_of_deletion(request) == row.is_free);
      // What the second condition of the entry of Workloads leaves out is no matter of deletion.
      const bool is_workload = std::string_view(subject.kind) == "Workload";
      if (row.is_free || !is_workload) CHECK((entries_asked(request) == 0) == row.is_free);
    }
  }
}

TEST_CASE("deletion: a status counts only where the request writes it") {
  AdmissionRequest request = request_of(kSubjects[2]);
  request.object["status"] = {{"active", 3}};
  CHECK(is_step_of_deletion(request));
  CHECK(entries_asked(request) == 0);
  request.operation = Operation::kCreate;
  CHECK_FALSE(is_step_of_deletion(request));
}

}  // namespace deletion_test
