#include "jobs/job_kind.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"

namespace job_kind_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("a job kind is found by group and kind and by nothing else") {
  CHECK(find_job_kind("batch", "Job") == &batch_job);
  CHECK(find_job_kind("jobset.x-k8s.io", "JobSet") == &jobset);
  CHECK(find_job_kind("batch", "CronJob") == nullptr);
  CHECK(find_job_kind("", "Job") == nullptr);
  CHECK(find_job_kind("jobset.x-k8s.io", "Job") == nullptr);
}

TEST_CASE("a job kind that was found stays valid when a configuration registers other kinds") {
  const auto kinds_with = [](const char* kind, const char* resource) {
    json row = json::parse(R"({"apiVersion": "config.muster.batch/v1alpha1", "kind": "JobKind", "group": "example.com",
        "version": "v1", "suspend": "spec.stopped", "podSets": [{"name": "crew", "path": "spec.crew"}],
        "active": {"path": "status.running", "nonzero": true}, "ready": {"condition": "Ready"},
        "ends": [{"condition": "Arrived", "success": true}]})");
    row.update({{"framework", std::string("example.com/") + resource}, {"kindName", kind}, {"resource", resource}});
    const auto description = read_kind_description(row);
    REQUIRE(description.ok());
    const auto registry = KindRegistry::with(std::vector{*description});
    REQUIRE(registry.ok());
    return *registry;
  };
  register_kinds(kinds_with("Train", "trains"));
  const JobKind* train = find_job_kind("example.com", "Train");
  REQUIRE(train != nullptr);
  register_kinds(kinds_with("Boat", "boats"));
  CHECK(find_job_kind("example.com", "Train") == nullptr);
  CHECK(train->type.plural == "trains");
  CHECK(train->suspended(json::parse(R"({"spec": {"stopped": true}})")));
  register_kinds(KindRegistry::built_in());
}

TEST_CASE("a Job is stopped when it is suspended and no stop of it is under way") {
  struct Row {
    std::string name;
    const char* job;
    bool suspended, stopped;
  };
  const Row rows[] = {
      {"a running Job is neither", R"({"spec": {"suspend": false}})", false, false},
      {"a Job without the field runs", R"({"spec": {}})", false, false},
      {"a suspended Job is stopped", R"({"spec": {"suspend": true}})", true, true},
      {"a Job that is being stopped is not stopped yet",
       R"({"metadata": {"annotations": {"kueue.x-k8s.io/stopping": "true"}}, "spec": {"suspend": true}})", true, false},
      {"another value of the annotation says nothing",
       R"({"metadata": {"annotations": {"kueue.x-k8s.io/stopping": "false"}}, "spec": {"suspend": true}})", true, true},
      {"a field of the wrong type is no suspension", R"({"spec": {"suspend": "true"}})", false, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const json job = json::parse(row.job);
    CHECK(batch_job.suspended(job) == row.suspended);
    CHECK(batch_job.stopped(job) == row.stopped);
  }
}

TEST_CASE("a JobSet is stopped as soon as it is suspended") {
  const json stopping =
      json::parse(R"({"metadata": {"annotations": {"kueue.x-k8s.io/stopping": "true"}}, "spec": {"suspend": true}})");
  CHECK(jobset.stopped(stopping));
}

TEST_CASE("suspending makes a spec where there is none and touches nothing else") {
  for (const JobKind* kind : job_kinds()) {
    INFO(kind->type.kind);
    // Pods have a gate, and what serves is never suspended.
    if (kind->has_own_reconciler()) continue;
    const json before = {{"metadata", {{"name", "train"}}}};
    json job = before;
    for (const bool suspend : {true, false}) {
      kind->set_suspend(job, suspend);
      CHECK(kind->suspended(job) == suspend);
      json patched = before;
      patched.merge_patch(kind->suspend_patch(suspend));
      CHECK(job == patched);
    }
    CHECK(job["metadata"] == before["metadata"]);

    json malformed = {{"spec", "text"}};
    kind->set_suspend(malformed, true);
    CHECK(malformed == json{{"spec", "text"}});
  }
}

TEST_CASE("the pods of a Job are the smaller of parallelism and completions") {
  struct Row {
    std::string name;
    const char* spec;
    int64_t pods;
  };
  const Row rows[] = {
      {"one pod by default", R"({"template": {}})", 1},
      {"parallelism counts alone", R"({"parallelism": 4, "template": {}})", 4},
      {"fewer completions bound it", R"({"parallelism": 4, "completions": 2, "template": {}})", 2},
      {"more completions do not", R"({"parallelism": 4, "completions": 9, "template": {}})", 4},
      {"completions without parallelism come one after the other", R"({"completions": 9, "template": {}})", 1},
      {"no parallelism means no pods", R"({"parallelism": 0, "template": {}})", 0},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const json job = {{"spec", json::parse(row.spec)}};
    const auto templates = batch_job.read_pod_templates(job);
    REQUIRE(templates.size() == 1);
    CHECK(templates[0].name == "main");
    CHECK(templates[0].path.text() == "spec.template");
    CHECK(templates[0].count == row.pods);
    CHECK(templates[0].template_json == &job["spec"]["template"]);
  }
}

TEST_CASE("a JobSet has one pod template per replicated job with replicas counted") {
  json job = json::parse(R"({"spec": {"replicatedJobs": [
      {"name": "leader", "template": {"spec": {"template": {"spec": {}}}}},
      {"name": "broken", "template": "none"},
      {"name": "workers", "replicas": 3, "template": {"spec": {"parallelism": 4, "completions": 2, "template": {}}}}]}})");
  const auto templates = jobset.pod_templates(job);
  REQUIRE(templates.size() == 2);
  CHECK(templates[0].name == "leader");
  CHECK(templates[0].count == 1);
  CHECK(templates[1].name == "workers");
  CHECK(templates[1].count == 6);
  CHECK(templates[1].path.text() == "spec.replicatedJobs[2].template.spec.template");

  (*templates[1].template_json)["spec"]["hostNetwork"] = true;
  CHECK(job["spec"]["replicatedJobs"][2]["template"]["spec"]["template"]["spec"]["hostNetwork"] == true);
}

TEST_CASE("numbers beyond what the schema allows do not overflow a count") {
  const json job = json::parse(R"({"spec": {"replicatedJobs": [{"name": "a", "replicas": 9223372036854775807,
      "template": {"spec": {"parallelism": 9223372036854775807, "template": {}}}}]}})");
  const auto templates = jobset.read_pod_templates(job);
  REQUIRE(templates.size() == 1);
  CHECK(templates[0].count == int64_t{2147483647} * 2147483647);
}

TEST_CASE("a job without templates has none") {
  for (const JobKind* kind : job_kinds()) {
    // A pod is its own.
    if (kind == &plain_pod) continue;
    CHECK(kind->read_pod_templates(json::object()).empty());
    CHECK(kind->read_pod_templates(json{{"spec", nullptr}}).empty());
    CHECK(kind->read_pod_templates(json{{"spec", {{"template", "none"}, {"replicatedJobs", 1}}}}).empty());
  }
}

// Before quota is released the API server is asked for these pods. Where a job that is gone has no answer, its Workload
// keeps that of the job (TEST_CASE "gone job: ...").
TEST_CASE("job kinds: each says which pods its quota waits for") {
  struct Row {
    const char* kind;
    const char* live;
    const char* gone;
  };
  const Row rows[] = {
      {"Job", "batch.kubernetes.io/controller-uid=u", "batch.kubernetes.io/controller-uid=u"},
      {"JobSet", "jobset.sigs.k8s.io/jobset-uid=u", "jobset.sigs.k8s.io/jobset-uid=u"},
      {"RayCluster", "ray.io/cluster=t", "ray.io/cluster=t"},
      {"RayJob", "ray.io/cluster=c", ""},
      {"RayService", "ray.io/cluster in (a,p)", ""},
      {"MPIJob", "training.kubeflow.org/job-name=t,training.kubeflow.org/operator-name=mpi-operator", nullptr},
      {"PyTorchJob", "training.kubeflow.org/job-name=t,training.kubeflow.org/operator-name=pytorchjob-controller",
       nullptr},
      {"TFJob", "training.kubeflow.org/job-name=t,training.kubeflow.org/operator-name=tfjob-controller", nullptr},
      {"XGBoostJob", "training.kubeflow.org/job-name=t,training.kubeflow.org/operator-name=xgboostjob-controller",
       nullptr},
      {"PaddleJob", "training.kubeflow.org/job-name=t,training.kubeflow.org/operator-name=paddlejob-controller",
       nullptr},
      {"JAXJob", "training.kubeflow.org/job-name=t,training.kubeflow.org/operator-name=jaxjob-controller", nullptr},
      {"TrainJob", "jobset.sigs.k8s.io/jobset-name=t", nullptr},
      {"AppWrapper", "workload.codeflare.dev/appwrapper=t", nullptr},
      {"SparkApplication", "sparkoperator.k8s.io/app-name=t", nullptr},
  };
  const json object = {{"metadata", {{"name", "t"}, {"uid", "u"}}},
                       {"status",
                        {{"rayClusterName", "c"},
                         {"activeServiceStatus", {{"rayClusterName", "a"}}},
                         {"pendingServiceStatus", {{"rayClusterName", "p"}}}}}};
  for (const JobKind* kind : job_kinds()) {
    CAPTURE(kind->type.kind);
    // muster watches the pods of the others.
    if (kind->has_own_reconciler()) continue;
    const auto row =
        std::find_if(std::begin(rows), std::end(rows), [&](const Row& each) { return each.kind == kind->type.kind; });
    REQUIRE(row != std::end(rows));
    CHECK(kind->pod_selector(read_object(kind->type, object)) == row->live);
    CHECK(kind->pod_selector("t", "u") == (row->gone == nullptr ? row->live : row->gone));
  }
  json job = object;
  job["spec"] = {{"manualSelector", true}, {"selector", {{"matchLabels", {{"app", "mine"}}}}}};
  CHECK(batch_job.pod_selector(read_object(kJobs, job)) == "app=mine");
}

}  // namespace job_kind_test
