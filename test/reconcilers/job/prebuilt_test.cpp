// Workloads that users make for their jobs: what can be left out, and what is said of one that
// does not suit.
#include <doctest/doctest.h>

#include "api/workload.h"
#include "reconcilers/job/job_workload.h"
#include "test/reconcilers/job/job_cluster.h"

namespace prebuilt_test {

using namespace muster;
using namespace muster::test;

namespace {

// As the API server stores it: with the defaults of containers.
json stored_job() {
  const json container = {{"name", "main"},
                          {"image", "registry.example/train"},
                          {"imagePullPolicy", "Always"},
                          {"terminationMessagePath", "/dev/termination-log"},
                          {"terminationMessagePolicy", "File"},
                          {"ports", {{{"containerPort", 80}, {"protocol", "TCP"}}}},
                          {"resources", json::object()}};
  json job = queued_job(1);
  job["metadata"]["annotations"] = {{"kueue.x-k8s.io/prebuilt-workload-name", "mine"}};
  job["spec"]["template"]["spec"]["containers"] = json::array({container});
  return job;
}

json written_workload(const json& container_patch = json::object(), int count = 1) {
  json container = {{"name", "main"}, {"image", "registry.example/train"}, {"ports", {{{"containerPort", 80}}}}};
  container.merge_patch(container_patch);
  json workload = workload_of(count, {{"spec", {{"containers", {container}}}}}, {{"queueName", "q"}});
  workload["metadata"]["ownerReferences"] = controlled_by(kJobs, "train", "job-uid");
  return workload;
}

json with_spec(const json& spec_patch) {
  json workload = written_workload();
  workload["spec"]["podSets"][0]["template"]["spec"].merge_patch(spec_patch);
  return workload;
}

JobCluster cluster_with(const json& workload) {
  JobCluster cluster;
  cluster.put(kJobs, "train", stored_job());
  cluster.put(kWorkloads, "mine", workload);
  return cluster;
}

const ObjectKey kJob{&kJobs, "team-a", "train"};

}  // namespace

TEST_CASE("prebuilt: what the API server fills in for pods may be left out") {
  JobCluster cluster = cluster_with(written_workload());
  cluster.settle(kJob);
  CHECK_FALSE(cluster.state.find<Workload>("team-a", "mine")->finished());
  CHECK(cluster.count_events("PrebuiltWorkloadOutOfSync") == 0);
}

TEST_CASE("prebuilt: one that does not suit is told on the job with the field that differs") {
  struct Row {
    json workload;
    const char* field;
  };
  const Row rows[] = {
      {written_workload(json::object(), 2), "spec.podSets[0].count is 2, and the job's is 1"},
      {written_workload({{"image", "other"}}),
       "spec.podSets[0].template.spec.containers[0].image is \"other\", and the job's is \"registry.example/train\""},
      {written_workload({{"imagePullPolicy", "Never"}}), "containers[0].imagePullPolicy is \"Never\""},
      {written_workload({{"terminationMessagePolicy", "FallbackToLogsOnError"}}), "terminationMessagePolicy"},
      {with_spec({{"resources", {{"requests", {{"cpu", "64"}}}}}}),
       "spec.podSets[0].template.spec.resources is {\"requests\":{\"cpu\":\"64\"}}, and the job's is not set"},
      {with_spec({{"overhead", {{"cpu", "1"}}}}), "spec.overhead is {\"cpu\":\"1\"}"},
      {with_spec({{"runtimeClassName", "kata"}}), "spec.runtimeClassName is \"kata\", and the job's is not set"},
      {with_spec({{"resourceClaims", {{{"name", "gpu"}}}}}), "spec.resourceClaims is [{\"name\":\"gpu\"}]"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.field));
    JobCluster cluster = cluster_with(row.workload);
    cluster.settle(kJob);
    CHECK(cluster.state.find<Workload>("team-a", "mine")->finished());
    const std::string note = cluster.note_of("PrebuiltWorkloadOutOfSync");
    INFO(note);
    CHECK(note.find(row.field) != std::string::npos);
  }
}

TEST_CASE("prebuilt: what the pods of the job cost and the Workload leaves out does not suit") {
  const std::pair<json, const char*> rows[] = {
      {{{"resources", {{"limits", {{"cpu", "64"}}}}}},
       "spec.podSets[0].template.spec.resources is not set, and the job's is {\"limits\":{\"cpu\":\"64\"}}"},
      {{{"resourceClaims", {{{"name", "gpu"}}}}}, "spec.resourceClaims is not set"},
      {{{"overhead", {{"cpu", "64"}}}}, "spec.overhead is not set"},
      {{{"runtimeClassName", "kata"}}, "spec.runtimeClassName is not set, and the job's is \"kata\""},
  };
  for (const auto& [spec, field] : rows) {
    CAPTURE(std::string(field));
    json job = stored_job();
    job["spec"]["template"]["spec"].merge_patch(spec);
    JobCluster cluster;
    cluster.put(kJobs, "train", job);
    cluster.put(kWorkloads, "mine", written_workload());
    cluster.settle(kJob);
    CHECK(cluster.state.find<Workload>("team-a", "mine")->finished());
    CHECK(cluster.note_of("PrebuiltWorkloadOutOfSync").find(field) != std::string::npos);
    // The same in both suits, whichever way the amounts are written.
    JobCluster suited;
    suited.put(kJobs, "train", job);
    suited.put(kWorkloads, "mine", with_spec(spec));
    suited.settle(kJob);
    CHECK_FALSE(suited.state.find<Workload>("team-a", "mine")->finished());
  }
}

TEST_CASE("prebuilt: a job that runs and was changed stops first, and its quota waits for its pods") {
  JobCluster cluster = cluster_with(written_workload());
  cluster.edit(kWorkloads, "mine", [](json& workload) {
    workload["status"] = {
        {"admission", admission_of(1, {{"cpu", "f"}}, {{"cpu", "1"}})},
        {"conditions", json::array({condition_at("2026-01-01T11:30:00Z", "QuotaReserved", "True", "QuotaReserved"),
                                    condition_at("2026-01-01T11:30:00Z", "Admitted", "True", "Admitted")})}};
  });
  cluster.edit(kJobs, "train", [](json& job) {
    job["spec"]["suspend"] = false;
    job["spec"]["parallelism"] = job["spec"]["completions"] = 2;
    job["status"]["active"] = 2;
  });
  cluster.settle(kJob);
  CHECK(cluster.get(kJobs, "train")["spec"]["suspend"] == true);
  CHECK_FALSE(cluster.state.find<Workload>("team-a", "mine")->finished());
  cluster.stop_pods("train");
  cluster.settle(kJob);
  CHECK(cluster.condition_of(kWorkloads, "mine", "Finished") == "True OutOfSync");
}

TEST_CASE("prebuilt: one that another job controls is told on the job") {
  json taken = written_workload();
  taken["metadata"]["ownerReferences"][0]["name"] = "other";
  taken["metadata"]["ownerReferences"][0]["uid"] = "other-uid";
  JobCluster cluster = cluster_with(taken);
  cluster.settle(kJob);
  CHECK(cluster.note_of("PrebuiltWorkloadTaken").starts_with("Warning: Workload team-a/mine belongs to Job other"));
  CHECK_FALSE(cluster.state.find<Workload>("team-a", "mine")->finished());
}

TEST_CASE("prebuilt: one that was made for another job or a group of pods is not taken") {
  struct Row {
    const char* what;
    json metadata;
    bool taken;
  };
  const Row rows[] = {
      {"nobody's", json::object(), true},
      {"this job's own, which has lost its owner", {{"labels", {{"kueue.x-k8s.io/job-uid", "job-uid"}}}}, true},
      {"another job's, which has lost its owner", {{"labels", {{"kueue.x-k8s.io/job-uid", "other"}}}}, false},
      {"a group's",
       {{"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}},
        {"ownerReferences", json::array({{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "p"}, {"uid", "p-uid"}}})}},
       false},
      {"a group's, whose pods are gone", {{"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}}}, false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    json workload = written_workload();
    workload["metadata"].erase("ownerReferences");
    workload["metadata"].merge_patch(row.metadata);
    JobCluster cluster = cluster_with(workload);
    cluster.settle(kJob);
    const auto& controller = cluster.state.find<Workload>("team-a", "mine")->meta.controller;
    CHECK((controller && controller->uid == "job-uid") == row.taken);
    CHECK(cluster.count_events("PrebuiltWorkloadTaken") == (row.taken ? 0 : 1));
  }
}

}  // namespace prebuilt_test
