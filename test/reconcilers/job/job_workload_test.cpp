#include "reconcilers/job/job_workload.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/workload.h"
#include "jobs/job_kind.h"
#include "jobs/queued_job.h"
#include "test/reconcilers/job/queued_train.h"

namespace job_workload_test {

using namespace muster;
using namespace muster::test;

TEST_CASE("a job's life takes few writes: its Workload and start and end and farewell") {
  Queued cluster;
  cluster.admit();
  cluster.settle(kTrain);
  CHECK(cluster.runs());
  cluster.run();
  CHECK(cluster.settle(kTrain).empty());
  cluster.edit(kJobs, "train", [](json& job) {
    job["status"] = {{"succeeded", 3}, {"conditions", json::array({true_condition("Complete", "Done", "all well")})}};
  });
  cluster.settle(kTrain);
  CHECK(cluster.get(kWorkloads, cluster.workload)["status"]["conditions"][2]["reason"] == "Succeeded");
  CHECK_FALSE(cluster.get(kWorkloads, cluster.workload)["metadata"].contains("finalizers"));
  // One more, by the scheduler, admits it: five of the six that a job can cost.
  CHECK(cluster.writes == std::map<std::string, int>{{"jobs", 1}, {"workloads", 2}, {"workloads/status", 1}});
  CHECK(cluster.settle(kTrain).empty());
}

TEST_CASE("a Workload has the submitter of its job, and without one has none") {
  for (const bool recorded : {true, false}) {
    JobCluster cluster;
    json job = queued_job(1);
    if (recorded) job["metadata"]["annotations"]["muster.batch/submitter"] = "alice";
    job["metadata"]["annotations"]["note"] = "mine";
    cluster.put(kJobs, "train", job);
    cluster.settle(kTrain);
    const json metadata = cluster.get(kWorkloads, cluster.names(kWorkloads).at(0))["metadata"];
    const json annotations = metadata.value("annotations", json::object());
    CHECK(annotations.value("muster.batch/submitter", "") == (recorded ? "alice" : ""));
    CHECK_FALSE(annotations.contains("note"));
  }
}

TEST_CASE("a Workload whose controller was replaced by what muster does not run is taken back and can be preempted") {
  Queued cluster;
  cluster.admit();
  cluster.settle(kTrain);
  cluster.run();
  const json owners = cluster.get(kWorkloads, cluster.workload)["metadata"]["ownerReferences"];
  cluster.edit(kWorkloads, cluster.workload, [](json& object) {
    object["metadata"]["ownerReferences"] = controlled_by("v1", "ConfigMap", "mine", "other");
  });
  CHECK(cluster.step(kTrain).size() == 1);
  CHECK(cluster.get(kWorkloads, cluster.workload)["metadata"]["ownerReferences"] == owners);
  cluster.settle(kTrain);
  CHECK(cluster.runs());
  cluster.evict();
  cluster.settle(kTrain);
  CHECK_FALSE(cluster.runs());
}

TEST_CASE("a Workload of another controller that was not made for the job is left alone") {
  Queued cluster;
  for (const bool by_another_job : {true, false}) {
    cluster.edit(kWorkloads, cluster.workload, [&](json& object) {
      json& metadata = object["metadata"];
      metadata["labels"]["kueue.x-k8s.io/job-uid"] = by_another_job ? "job-uid" : "another";
      metadata["ownerReferences"] =
          by_another_job ? controlled_by(kJobs, "mine", "other") : controlled_by("v1", "ConfigMap", "mine", "other");
    });
    CHECK(cluster.step(kTrain).empty());
  }
}

TEST_CASE("an evicted job is stopped and restored whatever step a crash comes after") {
  Queued cluster;
  const json before = cluster.get(kJobs, "train")["spec"];
  cluster.admit();
  cluster.settle(kTrain);
  cluster.run();
  cluster.evict();
  // Every plan is one write from what is stored, which is what a new process would do.
  for (int step = 0; step < 2; ++step) {
    INFO("step ", step);
    CHECK(cluster.step(kTrain).size() == 1);
    CHECK_FALSE(cluster.runs());
    // Its pods still run, so its quota stays.
    CHECK(cluster.get(kWorkloads, cluster.workload)["status"].contains("admission"));
  }
  // Kubernetes would refuse the template.
  CHECK(cluster.settle(kTrain).empty());
  cluster.stop_pods("train");
  CHECK(cluster.step(kTrain) == Texts{"patch jobs/train"});
  CHECK(cluster.get(kJobs, "train")["spec"]["template"]["spec"] == before["template"]["spec"]);
  CHECK(cluster.events.back().note == "room");
  CHECK(cluster.settle(kTrain) == Texts{"status workloads/" + cluster.workload});
  CHECK_FALSE(cluster.get(kWorkloads, cluster.workload)["status"].contains("admission"));
}

TEST_CASE("an admission that seems to begin in the future neither adds nor takes away execution time") {
  // A clock that was set back by two hours, and a process that knows only the stamps.
  Queued cluster;
  cluster.admit();
  cluster.settle(kTrain);
  cluster.run();
  cluster.edit(kWorkloads, cluster.workload, [](json& object) {
    object["status"]["accumulatedPastExecutionTimeSeconds"] = 100;
    object["status"]["conditions"][1]["lastTransitionTime"] = "2026-01-01T14:00:00Z";
  });
  cluster.evict();
  cluster.settle(kTrain);
  cluster.stop_pods("train");
  cluster.settle(kTrain);
  const json status = cluster.get(kWorkloads, cluster.workload)["status"];
  CHECK_FALSE(status.contains("admission"));
  CHECK(status["accumulatedPastExecutionTimeSeconds"] == 100);
}

TEST_CASE("a stop that was interrupted is completed although the Workload is admitted again") {
  Queued cluster;
  cluster.admit();
  cluster.settle(kTrain);
  cluster.run();
  cluster.evict();
  cluster.step(kTrain);
  cluster.admit();
  cluster.settle(kTrain);
  CHECK_FALSE(cluster.runs());
  cluster.stop_pods("train");
  cluster.settle(kTrain);
  CHECK(cluster.runs());
  CHECK(cluster.get(kJobs, "train")["metadata"].value("annotations", json::object()).empty());
}

TEST_CASE("a job without an admitted Workload does not run") {
  Queued cluster;
  cluster.edit(kJobs, "train", [](json& job) { job["spec"]["suspend"] = false; });
  CHECK(cluster.settle(kTrain) == Texts{"patch jobs/train"});
  CHECK_FALSE(cluster.runs());
}

TEST_CASE("what a job's pods ask of a topology is in its Workload") {
  const auto request_of = [](const json& annotations) {
    Queued cluster;
    cluster.edit(kJobs, "train", [&](json& job) {
      job["spec"]["template"]["metadata"] = {{"annotations", annotations}};
    });
    const jobs::QueuedJob job(jobs::batch_job, *cluster.state.find(kJobs, "team-a", "train"));
    const PodSet pod_set = job.pod_sets({})[0];
    CHECK(pod_set.asks_for_topology == !annotations.empty());
    json request = json::parse(pod_set.topology_request_text);
    request.erase("podIndexLabel");
    return request;
  };
  CHECK(request_of(json::object()) == json::object());
  CHECK(request_of({{"kueue.x-k8s.io/podset-required-topology", "rack"}}) == json{{"required", "rack"}});
  CHECK(request_of({{"kueue.x-k8s.io/podset-slice-required-topology-constraints",
                     R"([{"topology": "rack", "size": 2}, {"topology": "host", "size": 1}])"}}) ==
        json{{"podsetSliceRequiredTopologyConstraints",
              {{{"topology", "rack"}, {"size", 2}}, {{"topology", "host"}, {"size", 1}}}}});
}

TEST_CASE("a Workload that is deleted by hand stops its job and is made anew") {
  Queued cluster;
  cluster.admit();
  cluster.settle(kTrain);
  cluster.remove(kWorkloads, cluster.workload);
  cluster.settle(kTrain);
  CHECK_FALSE(cluster.runs());
  const json made = cluster.get(kWorkloads, cluster.workload);
  REQUIRE_FALSE(made.is_null());
  CHECK_FALSE(made["metadata"].contains("deletionTimestamp"));
  CHECK_FALSE(made.contains("status"));
}

TEST_CASE("a deleted job lets its Workload go") {
  Queued cluster;
  cluster.edit(kJobs, "train", [](json& job) {
    job["metadata"]["finalizers"] = {"foregroundDeletion"};
    job["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  });
  cluster.settle(kTrain);
  CHECK_FALSE(cluster.get(kWorkloads, cluster.workload)["metadata"].contains("finalizers"));
}

TEST_CASE("jobs that are nobody's business get no Workload") {
  struct Row {
    const char* name;
    std::function<void(JobCluster&, json&)> change;
  };
  const Row rows[] = {
      {"a job without a queue", [](JobCluster&, json& job) { job["metadata"].erase("labels"); }},
      {"a job of another controller", [](JobCluster&, json& job) { job["spec"]["managedBy"] = "example.com/other"; }},
      {"a job of a kind that is not enabled",
       [](JobCluster& cluster, json&) { cluster.settings.queues.rules.frameworks.erase("batch/job"); }},
      {"a job in a namespace that is not managed",
       [](JobCluster& cluster, json&) {
         cluster.settings.queues.rules.managed_jobs_namespace_selector =
             *LabelSelector::parse({{"matchLabels", {{"managed", "yes"}}}});
       }},
      {"a job whose pods run still", [](JobCluster&, json& job) { job["status"]["active"] = 1; }},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobCluster cluster;
    json job = queued_job(3);
    row.change(cluster, job);
    cluster.put(kJobs, "train", job);
    CHECK(cluster.settle(kTrain).empty());
    CHECK(cluster.list(kWorkloads).empty());
  }
}

TEST_CASE("a job with more owners than are looked at does not run, and an event says why") {
  for (const int owners : {10, 11}) {
    CAPTURE(owners);
    JobCluster cluster;
    const auto owned_by = [&](int owner) {
      const std::string number = std::to_string(owner);
      return owner > owners ? json::array() : controlled_by(kJobSets, "o" + number, "u" + number);
    };
    for (int i = 1; i <= owners; ++i)
      cluster.put(kJobSets, "o" + std::to_string(i),
                  {{"metadata", {{"uid", "u" + std::to_string(i)}, {"ownerReferences", owned_by(i + 1)}}}});
    json job = queued_job(1);
    job["metadata"]["ownerReferences"] = owned_by(1);
    job["spec"]["suspend"] = false;
    cluster.put(kJobs, "train", job);
    cluster.settle(kTrain);
    CHECK(cluster.get(kJobs, "train")["spec"]["suspend"] == true);
    CHECK((cluster.count_events("JobNestingTooDeep") > 0) == (owners > 10));
  }
}

TEST_CASE("a gate that is removed from a job is removed from its Workload and never added to it") {
  JobCluster cluster;
  const std::string key = "kueue.x-k8s.io/admission-gated-by";
  const auto gates_of_job = [&](const json& gates) {
    cluster.edit(kJobs, "train", [&](json& job) { job["metadata"]["annotations"][key] = gates; });
  };
  json job = queued_job(3);
  job["metadata"]["annotations"][key] = "example.com/a,example.com/b";
  cluster.put(kJobs, "train", job);
  cluster.settle(kTrain);
  const std::string workload = cluster.names(kWorkloads).at(0);
  const auto gates = [&] {
    const json metadata = cluster.get(kWorkloads, workload)["metadata"];
    return metadata.value("annotations", json::object()).value(key, "none");
  };
  REQUIRE(gates() == "example.com/a,example.com/b");

  gates_of_job("example.com/b");
  cluster.settle(kTrain);
  CHECK(gates() == "example.com/b");
  CHECK(cluster.events.back().note == "Updated workload AdmissionGatedBy to \"example.com/b\"");

  cluster.edit(kJobs, "train", [&](json& object) { object["metadata"]["annotations"].erase(key); });
  cluster.settle(kTrain);
  CHECK(gates() == "none");
  CHECK(cluster.settle(kTrain).empty());

  // The webhook would refuse muster's write again and again.
  gates_of_job("example.com/c");
  CHECK(cluster.settle(kTrain).empty());
  CHECK(gates() == "none");
}

TEST_CASE("a Workload without a priority class gets none while it holds quota, as the webhook would refuse it") {
  Queued cluster;
  cluster.put(kWorkloadPriorityClasses, "high", {{"value", 7}});
  const auto class_of_workload = [&] {
    return cluster.get(kWorkloads, cluster.workload)["spec"].value("priorityClassRef", json());
  };
  cluster.admit();
  cluster.settle(kTrain);
  cluster.run();
  cluster.edit(kJobs, "train", [](json& job) { job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"; });
  CHECK(cluster.settle(kTrain).empty());
  CHECK(class_of_workload().is_null());
}

TEST_CASE(
    "a job with quota whose priority class is missing or gone keeps the old one, and stops and ends as any other") {
  for (const bool named : {true, false}) {
    for (const bool ends : {true, false}) {
      CAPTURE(named);
      CAPTURE(ends);
      JobCluster cluster;
      cluster.put(kResourceFlavors, "f", json::object());
      cluster.put(kWorkloadPriorityClasses, "high", {{"value", 7}});
      json job = queued_job(3);
      job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high";
      cluster.put(kJobs, "train", job);
      cluster.settle(kTrain);
      const std::string workload = cluster.names(kWorkloads).at(0);
      cluster.edit(kWorkloads, workload, [](json& object) {
        object["status"] = {{"admission", admission_of(3, {{"cpu", "f"}}, {{"cpu", "3"}})},
                            {"conditions", json::array({true_condition("QuotaReserved", "QuotaReserved"),
                                                        true_condition("Admitted", "Admitted")})}};
      });
      cluster.settle(kTrain);
      cluster.edit(kJobs, "train", [&](json& object) {
        json& labels = object["metadata"]["labels"];
        labels["kueue.x-k8s.io/priority-class"] = "absent";
        if (!named) labels.erase("kueue.x-k8s.io/priority-class");
        if (ends) object["status"] = {{"conditions", json::array({true_condition("Complete", "Done", "all well")})}};
      });
      if (!ends) {
        cluster.edit(kWorkloads, workload, [](json& object) {
          object["status"]["conditions"].push_back(true_condition("Evicted", "Preempted", "room"));
        });
      }
      cluster.settle(kTrain);
      const json object = cluster.get(kWorkloads, workload);
      // Without quota a class that is no longer named goes.
      CHECK(object["spec"]["priority"] == (named || ends ? 7 : 0));
      CHECK(cluster.condition_of(kWorkloads, workload, "Finished").starts_with("True") == ends);
      CHECK(cluster.get(kJobs, "train")["spec"].value("suspend", false) == !ends);
    }
  }
}

TEST_CASE("a job waits for its priority class and is told which one") {
  JobCluster cluster;
  json job = queued_job(3);
  job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high";
  cluster.put(kJobs, "train", job);
  CHECK(cluster.settle(kTrain).empty());
  REQUIRE(cluster.events.size() == 1);
  CHECK(cluster.events[0].reason == "WorkloadPriorityClassNotFound");
  cluster.concerned.clear();
  cluster.put(kWorkloadPriorityClasses, "high", {{"value", 7}});
  CHECK(cluster.concerned == std::vector<ObjectKey>{kTrain});
  CHECK(cluster.settle(kTrain).size() == 1);
  CHECK(cluster.list(kWorkloads)[0]["spec"]["priority"] == 7);
}

}  // namespace job_workload_test
