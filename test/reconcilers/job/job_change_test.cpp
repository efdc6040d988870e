// Jobs that change while they have a Workload: their counts, their queue, what they start with.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/job_kind.h"
#include "jobs/queued_job.h"
#include "test/reconcilers/job/queued_train.h"

namespace job_change_test {

using namespace muster;
using namespace muster::test;

TEST_CASE("an elastic job that grows is stopped and queued again and one that shrinks runs on") {
  Queued cluster;
  cluster.edit(kJobs, "train", [](json& job) {
    job["metadata"]["annotations"] = {{"kueue.x-k8s.io/elastic-job", "true"}};
    job["spec"].erase("completions");
  });
  cluster.settle(kTrain);
  cluster.admit();
  cluster.settle(kTrain);
  cluster.run();
  const auto resize = [&](int pods) {
    cluster.edit(kJobs, "train", [&](json& job) { job["spec"]["parallelism"] = pods; });
    cluster.settle(kTrain);
  };
  resize(2);
  CHECK(cluster.runs());
  CHECK(cluster.get(kWorkloads, cluster.workload)["spec"]["podSets"][0]["count"] == 2);
  CHECK(cluster.get(kWorkloads, cluster.workload)["status"].contains("admission"));
  resize(5);
  CHECK_FALSE(cluster.runs());
  CHECK(cluster.get(kWorkloads, cluster.workload)["status"].contains("admission"));
  cluster.stop_pods("train");
  cluster.settle(kTrain);
  const json workloads = cluster.list(kWorkloads);
  REQUIRE(workloads.size() == 1);
  CHECK(workloads[0]["spec"]["podSets"][0]["count"] == 5);
  CHECK_FALSE(workloads[0].value("status", json::object()).contains("admission"));
  CHECK_FALSE(cluster.runs());
}

TEST_CASE("a job that its user suspends and enlarges starts again, with nothing of its last start") {
  for (const bool elastic : {false, true}) {
    CAPTURE(elastic);
    Queued cluster;
    cluster.edit(kJobs, "train", [&](json& job) {
      if (elastic) job["metadata"]["annotations"] = {{"kueue.x-k8s.io/elastic-job", "true"}};
      job["spec"].erase("completions");
    });
    cluster.settle(kTrain);
    cluster.workload = cluster.names(kWorkloads).at(0);
    cluster.admit();
    cluster.settle(kTrain);
    cluster.run();
    REQUIRE(cluster.get(kJobs, "train")["spec"]["template"]["spec"]["nodeSelector"]["pool"] == "a");
    cluster.edit(kJobs, "train", [](json& job) {
      job["spec"]["suspend"] = true;
      job["spec"]["parallelism"] = 5;
      job["metadata"]["generation"] = 7;
    });
    cluster.stop_pods("train");
    cluster.settle(kTrain);
    CHECK_FALSE(cluster.get(kJobs, "train")["spec"]["template"]["spec"].contains("nodeSelector"));
    REQUIRE(cluster.names(kWorkloads).size() == 1);
    cluster.workload = cluster.names(kWorkloads).at(0);
    CHECK(cluster.get(kWorkloads, cluster.workload)["spec"]["podSets"][0]["count"] == 5);
    cluster.put(kResourceFlavors, "other", {{"spec", {{"nodeLabels", {{"pool", "b"}}}}}});
    cluster.edit(kWorkloads, cluster.workload, [](json& object) {
      object["status"] = {{"admission", admission_of(5, {{"cpu", "other"}}, {{"cpu", "5"}})},
                          {"conditions", json::array({true_condition("QuotaReserved", "QuotaReserved"),
                                                      true_condition("Admitted", "Admitted")})}};
    });
    cluster.settle(kTrain);
    CHECK(cluster.runs());
    CHECK(cluster.get(kJobs, "train")["spec"]["template"]["spec"]["nodeSelector"]["pool"] == "b");
  }
}

TEST_CASE("a job that is stopped and names another queue gives its quota back, and its Workload moves") {
  struct Row {
    const char* name;
    bool admitted;
    bool has_pods;
    bool moves;
  };
  for (const Row& row : {Row{"reserved", false, false, true}, Row{"admitted and not started", true, false, true},
                         Row{"with a pod that is ending", true, true, false}}) {
    CAPTURE(row.name);
    Queued cluster;
    cluster.settle(kTrain);
    cluster.workload = cluster.names(kWorkloads).at(0);
    cluster.admit();
    cluster.edit(kWorkloads, cluster.workload, [&](json& workload) {
      if (!row.admitted) workload["status"]["conditions"].erase(1);
    });
    cluster.edit(kJobs, "train", [&](json& job) {
      job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "other";
      if (row.has_pods) job["status"] = {{"active", 1}};
    });
    cluster.settle(kTrain);
    CHECK_FALSE(cluster.runs());
    CHECK(cluster.get(kWorkloads, cluster.workload)["spec"]["queueName"] == (row.moves ? "other" : "q"));
    CHECK(cluster.get(kWorkloads, cluster.workload)["status"].contains("admission") == !row.moves);
  }
}

TEST_CASE("a job that grew past the webhook keeps its quota until its pods have ended") {
  JobCluster cluster;
  cluster.settings.queues.rules.frameworks.emplace("kubeflow.org/pytorchjob");
  const ResourceType& type = jobs::find_job_kind("kubeflow.org", "PyTorchJob")->type;
  const ObjectKey key{&type, "team-a", "train"};
  const auto workers = [](int count) {
    return json{{"Worker", {{"replicas", count}, {"template", pod_template_of()}}}};
  };
  cluster.put(type, "train",
              {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
               {"spec", {{"runPolicy", {{"suspend", true}}}, {"pytorchReplicaSpecs", workers(1)}}}});
  cluster.settle(key);
  cluster.edit(kWorkloads, cluster.names(kWorkloads).at(0), [](json& object) {
    json admission = admission_of(1, json::object(), json::object());
    admission["podSetAssignments"][0]["name"] = "worker";
    object["status"] = {{"admission", admission},
                        {"conditions", json::array({true_condition("QuotaReserved", "QuotaReserved"),
                                                    true_condition("Admitted", "Admitted")})}};
  });
  cluster.settle(key);
  REQUIRE_FALSE(cluster.get(type, "train")["spec"]["runPolicy"]["suspend"]);
  const auto run = [&](int pods) {
    cluster.edit(type, "train", [&](json& job) { job["status"]["replicaStatuses"]["Worker"]["active"] = pods; });
    cluster.settle(key);
  };
  run(1);
  cluster.edit(type, "train", [&](json& job) { job["spec"]["pytorchReplicaSpecs"] = workers(50); });
  cluster.settle(key);
  CHECK(cluster.get(type, "train")["spec"]["runPolicy"]["suspend"]);
  json workloads = cluster.list(kWorkloads);
  REQUIRE(workloads.size() == 1);
  CHECK(workloads[0]["status"].contains("admission"));
  CHECK_FALSE(workloads[0]["metadata"].contains("deletionTimestamp"));
  run(0);
  workloads = cluster.list(kWorkloads);
  REQUIRE(workloads.size() == 1);
  CHECK(workloads[0]["spec"]["podSets"][0]["count"] == 50);
  CHECK_FALSE(workloads[0].value("status", json::object()).contains("admission"));
}

TEST_CASE("an elastic job does not run before it is admitted") {
  Queued cluster;
  cluster.edit(kJobs, "train", [](json& job) {
    job["metadata"]["annotations"] = {{"kueue.x-k8s.io/elastic-job", "true"}};
    job["spec"]["suspend"] = false;
  });
  cluster.settle(kTrain);
  CHECK_FALSE(cluster.runs());
  cluster.admit();
  cluster.settle(kTrain);
  CHECK(cluster.runs());
}

TEST_CASE("a job is started without the gate that Kueue gave to the pods of elastic jobs") {
  json object = queued_job(1);
  object["spec"]["template"]["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/elastic-job"}},
                                                           {{"name", "example.com/licence"}}};
  const TypedObject job = read_object(kJobs, object);
  const auto patch = jobs::QueuedJob(jobs::batch_job, job).start_patch({PodSetInfo{}});
  REQUIRE(patch.ok());
  object.merge_patch(*patch);
  CHECK(object["spec"]["template"]["spec"]["schedulingGates"] == json::array({{{"name", "example.com/licence"}}}));
}

}  // namespace job_change_test
