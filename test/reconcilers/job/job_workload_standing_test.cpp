// Jobs that have no separate Workload: parts of others, and those that left the queues.
#include "reconcilers/job/job_workload_standing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "test/reconcilers/job/job_cluster.h"

namespace job_workload_standing_test {

using namespace muster;
using namespace muster::test;

namespace {

const ObjectKey kPart{&kJobs, "team-a", "train-w-0"};
const json kInQueue = {{"kueue.x-k8s.io/queue-name", "q"}};
const Texts kOneStop = {"patch jobs/train-w-0"};

json pods_of(int parallelism) {
  return {{"suspend", false}, {"parallelism", parallelism}, {"template", pod_template_of()}};
}

const json kOfTrain = controlled_by(kJobSets, "train", "train-uid");

json labels_of_part(int index) {
  return {{"jobset.sigs.k8s.io/replicatedjob-name", "w"}, {"jobset.sigs.k8s.io/job-index", std::to_string(index)}};
}

// A JobSet in a queue of two Jobs with two pods of 1 CPU, its Workload, and a Job of it that runs one pod.
struct Parts : JobCluster {
  Parts() {
    const json pods = pod_template_of({{"cpu", "1"}});
    const json replicated = {
        {"name", "w"}, {"replicas", 2}, {"template", {{"spec", {{"parallelism", 2}, {"template", pods}}}}}};
    put(kJobSets, "train",
        {{"metadata", {{"labels", kInQueue}}},
         {"spec", {{"suspend", true}, {"replicatedJobs", json::array({replicated})}}}});
    put(kWorkloads, "jobset-train",
        {{"metadata", {{"ownerReferences", kOfTrain}}},
         {"spec",
          {{"queueName", "q"}, {"podSets", json::array({{{"name", "w"}, {"count", 4}, {"template", pods}}})}}}});
    put(kJobs, "train-w-0",
        {{"metadata", {{"ownerReferences", kOfTrain}, {"labels", labels_of_part(0)}}}, {"spec", pods_of(1)}});
  }
  void say(const char* type) {
    edit(kWorkloads, "jobset-train", [&](json& object) {
      object["status"]["conditions"].push_back(condition_at(stamp(-std::chrono::minutes(30)), type, "True", type));
    });
  }
  void owned_by(const json& owners) {
    edit(kJobs, "train-w-0", [&](json& job) { job["metadata"]["ownerReferences"] = owners; });
  }
  bool runs() { return !get(kJobs, "train-w-0")["spec"].value("suspend", false); }
};

}  // namespace

TEST_CASE("a part of a job runs only while the Workload of the whole is admitted") {
  Parts cluster;
  SUBCASE("it is not") {
    CHECK(cluster.settle(kPart) == kOneStop);
    CHECK_FALSE(cluster.runs());
    REQUIRE(cluster.events.size() == 1);
    CHECK(cluster.events[0].reason == "Suspended");
  }
  SUBCASE("it is") {
    cluster.say("Admitted");
    CHECK(cluster.settle(kPart).empty());
    CHECK(cluster.runs());
  }
  SUBCASE("it was until the whole ended") {
    cluster.say("Admitted");
    cluster.say("Finished");
    CHECK(cluster.settle(kPart) == kOneStop);
    CHECK_FALSE(cluster.runs());
  }
  CHECK(cluster.list(kWorkloads).size() == 1);
}

TEST_CASE("a Job below an admitted JobSet runs as far as the JobSet asks for it, whoever made it") {
  struct Row {
    const char* what;
    const char* name;
    int index, pods;
    json requests;
    bool runs;
  };
  const Row rows[] = {
      {"as the JobSet says", "train-w-1", 1, 2, {{"cpu", "1"}}, true},
      {"another spelling of the same", "train-w-1", 1, 2, {{"cpu", "1000m"}}, true},
      {"larger pods", "train-w-1", 1, 2, {{"cpu", "1001m"}}, false},
      {"another resource", "train-w-1", 1, 2, {{"cpu", "1"}, {"example.com/gpu", "1"}}, false},
      {"more pods", "train-w-1", 1, 3, {{"cpu", "1"}}, false},
      {"beyond the replicas", "train-w-2", 2, 1, {{"cpu", "1"}}, false},
      {"another name", "extra", 1, 1, {{"cpu", "1"}}, false},
      {"another name, with a queue of its own", "queued", 1, 1, {{"cpu", "1"}}, false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Parts cluster;
    cluster.say("Admitted");
    json labels = labels_of_part(row.index);
    if (row.name == std::string("queued")) labels.update(kInQueue);
    cluster.put(
        kJobs, row.name,
        {{"metadata", {{"ownerReferences", kOfTrain}, {"labels", labels}}},
         {"spec", {{"suspend", false}, {"parallelism", row.pods}, {"template", pod_template_of(row.requests)}}}});
    cluster.settle({&kJobs, "team-a", row.name});
    CHECK(cluster.get(kJobs, row.name)["spec"].value("suspend", false) == !row.runs);
    if (row.runs) continue;
    REQUIRE(cluster.events.size() == 1);
    CHECK(cluster.events[0].note ==
          "Suspended: this Job is not one that the JobSet asks for, or its pods request more than the quota of JobSet "
          "\"train\"");
  }
}

TEST_CASE("a part of a job claims no devices that the quota does not have") {
  Parts cluster;
  cluster.say("Admitted");
  cluster.edit(kJobs, "train-w-0", [](json& job) {
    job["spec"]["template"]["spec"]["resourceClaims"] = json::array({{{"name", "gpu"}, {"resourceClaimName", "mine"}}});
  });
  CHECK(cluster.settle(kPart) == kOneStop);
  CHECK_FALSE(cluster.runs());
}

TEST_CASE("a Job whose controller is not there is queued by itself, a few seconds after its creation") {
  Parts cluster;
  const json gone = controlled_by("jobset.x-k8s.io/v1alpha1", "JobSet", "gone", "gone-uid");
  const auto create = [&](Duration age) {
    cluster.put(
        kJobs, "orphan",
        {{"metadata", {{"ownerReferences", gone}, {"labels", kInQueue}, {"creationTimestamp", cluster.stamp(-age)}}},
         {"spec", pods_of(40)}});
  };
  const ObjectKey key{&kJobs, "team-a", "orphan"};
  SUBCASE("its controller can still be on its way") {
    create(std::chrono::seconds(2));
    const reconcilers::Plan plan = cluster.reconcile(key);
    CHECK(plan.writes.empty());
    REQUIRE(plan.again_at);
    CHECK(*plan.again_at <= cluster.now().wall + std::chrono::seconds(10));
  }
  SUBCASE("it is gone") {
    create(std::chrono::seconds(11));
    cluster.settle(key);
    CHECK(cluster.get(kJobs, "orphan")["spec"]["suspend"] == true);
    CHECK(cluster.list(kWorkloads).size() == 2);
  }
}

TEST_CASE("the deletion of a job concerns the jobs that it controls") {
  Parts cluster;
  cluster.say("Admitted");
  cluster.edit(kJobs, "train-w-0", [](json& job) { job["metadata"]["labels"].update(kInQueue); });
  cluster.settle(kPart);
  CHECK(cluster.runs());
  cluster.pass(std::chrono::seconds(11));
  cluster.concerned.clear();
  cluster.vanish(kJobSets, "train");
  CHECK(std::find(cluster.concerned.begin(), cluster.concerned.end(), kPart) != cluster.concerned.end());
  cluster.settle(kPart);
  CHECK_FALSE(cluster.runs());
}

TEST_CASE("a Job with a queue of its own below a suspended JobSet is not started") {
  for (const bool suspended : {true, false}) {
    CAPTURE(suspended);
    JobCluster cluster;
    cluster.settings.queues.rules.jobset_mode = JobSetMode::kNative;
    cluster.put(kJobSets, "train", {{"spec", {{"suspend", suspended}}}});
    json labels = labels_of_part(0);
    labels.update(kInQueue);
    json spec = pods_of(1);
    spec["suspend"] = true;
    cluster.put(kJobs, "train-w-0",
                {{"metadata", {{"ownerReferences", kOfTrain}, {"labels", labels}}}, {"spec", spec}});
    cluster.settle(kPart);
    const json workloads = cluster.list(kWorkloads);
    REQUIRE(workloads.size() == 1);
    cluster.edit(kWorkloads, workloads[0]["metadata"]["name"], [&](json& object) {
      object["status"] = {{"admission", admission_of(1, json::object(), json::object())},
                          {"conditions", json::array({condition_at(cluster.stamp(), "QuotaReserved", "True", "Q"),
                                                      condition_at(cluster.stamp(), "Admitted", "True", "Admitted")})}};
    });
    cluster.settle(kPart);
    CHECK(cluster.get(kJobs, "train-w-0")["spec"]["suspend"] == suspended);
  }
}

TEST_CASE("a Job of an external framework runs only while the Workload of its owner is admitted") {
  Parts cluster;
  const json ray = controlled_by("ray.io/v1", "RayJob", "train", "ray-uid");
  cluster.owned_by(ray);
  cluster.edit(kWorkloads, "jobset-train", [&](json& workload) { workload["metadata"]["ownerReferences"] = ray; });
  cluster.settings.queues.rules.external_frameworks = {"RayJob.v1.ray.io"};
  SUBCASE("it is not") {
    CHECK(cluster.settle(kPart) == kOneStop);
    CHECK_FALSE(cluster.runs());
  }
  SUBCASE("it is") {
    cluster.say("Admitted");
    CHECK(cluster.settle(kPart).empty());
    CHECK(cluster.runs());
  }
  SUBCASE("the kind is not listed, so the Job is queued by its own label alone") {
    cluster.settings.queues.rules.external_frameworks = {"RayCluster.v1.ray.io"};
    CHECK(cluster.settle(kPart).empty());
    CHECK(cluster.runs());
  }
  CHECK(cluster.list(kWorkloads).size() == 1);
}

TEST_CASE("a JobSet below a JobSet is counted nowhere and does not run") {
  Parts cluster;
  cluster.say("Admitted");
  cluster.put(kJobSets, "inner", {{"metadata", {{"ownerReferences", kOfTrain}}}, {"spec", {{"suspend", false}}}});
  CHECK(cluster.settle({&kJobSets, "team-a", "inner"}) == Texts{"patch jobsets/inner"});
  CHECK(cluster.get(kJobSets, "inner")["spec"]["suspend"] == true);
}

TEST_CASE("the JobSet of an admitted TrainJob runs, and what somebody adds to it does not") {
  Parts cluster;
  cluster.settings.queues.rules.frameworks.emplace("trainer.kubeflow.org/trainjob");
  const ResourceType& type = jobs::find_job_kind("trainer.kubeflow.org", "TrainJob")->type;
  const json train_job = controlled_by(type, "tune", "train-job-uid");
  cluster.put(type, "tune",
              {{"metadata", {{"uid", "train-job-uid"}, {"labels", kInQueue}}}, {"spec", {{"suspend", false}}}});
  const json pod_set = {{"name", "node"}, {"count", 2}, {"template", pod_template_of({{"cpu", "1"}})}};
  cluster.put(kWorkloads, "trainjob-tune",
              {{"metadata", {{"ownerReferences", train_job}}},
               {"spec", {{"queueName", "q"}, {"podSets", json::array({pod_set})}}}});
  const auto add_jobset = [&](const char* name, int nodes, const char* cpu, const char* created) {
    const json pods = pod_template_of({{"cpu", cpu}});
    const json node = {{"name", "node"},
                       {"template", {{"spec", {{"parallelism", nodes}, {"completions", nodes}, {"template", pods}}}}}};
    cluster.put(kJobSets, name,
                {{"metadata", {{"creationTimestamp", created}, {"ownerReferences", train_job}}},
                 {"spec", {{"suspend", false}, {"replicatedJobs", json::array({node})}}}});
  };
  const auto runs = [&](const char* name) {
    cluster.settle({&kJobSets, "team-a", name});
    return !cluster.get(kJobSets, name)["spec"].value("suspend", false);
  };
  const auto admit = [&] {
    cluster.edit(kWorkloads, "trainjob-tune", [](json& object) {
      object["status"]["conditions"] =
          json::array({condition_at("2026-01-01T11:30:00Z", "Admitted", "True", "Admitted")});
    });
  };
  add_jobset("tune", 2, "1", "2026-01-01T11:00:00Z");
  SUBCASE("before the admission") {
    CHECK_FALSE(runs("tune"));
  }
  SUBCASE("after it") {
    admit();
    CHECK(runs("tune"));
    SUBCASE("another JobSet") {
      add_jobset("more", 1, "1", "2026-01-01T11:00:01Z");
      cluster.events.clear();
      CHECK_FALSE(runs("more"));
      REQUIRE(cluster.events.size() == 1);
      CHECK(cluster.events[0].note ==
            "Suspended: this JobSet, with the older ones of its controller, requests more than the quota of TrainJob "
            "\"tune\"");
      CHECK(runs("tune"));
      SUBCASE("once the first has ended") {
        cluster.edit(kJobSets, "tune", [](json& object) {
          object["status"]["conditions"] =
              json::array({condition_at("2026-01-01T11:40:00Z", "Completed", "True", "AllJobsCompleted")});
        });
        cluster.edit(kJobSets, "more", [](json& object) { object["spec"]["suspend"] = false; });
        CHECK(runs("more"));
      }
    }
    SUBCASE("larger pods in its place") {
      add_jobset("tune", 2, "1100m", "2026-01-01T11:00:00Z");
      CHECK_FALSE(runs("tune"));
    }
    SUBCASE("more of them") {
      add_jobset("tune", 3, "500m", "2026-01-01T11:00:00Z");
      CHECK_FALSE(runs("tune"));
    }
  }
}

TEST_CASE("a Job with a queue of its own hides behind no controller that makes no Jobs") {
  struct Row {
    const char* what;
    json owners;
  };
  const Row rows[] = {
      {"a queued Job", controlled_by(kJobs, "anchor", "anchor-uid")},
      {"a JobSet of another group", controlled_by("example.com/v1", "JobSet", "train", "train-uid")},
      {"a namesake of a JobSet that is gone", controlled_by(kJobSets, "train", "old-uid")},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Parts cluster;
    cluster.put(kJobs, "anchor", {{"metadata", {{"labels", kInQueue}}}, {"spec", pods_of(100)}});
    cluster.edit(kJobs, "train-w-0", [](json& job) { job["metadata"]["labels"] = kInQueue; });
    cluster.owned_by(row.owners);
    cluster.settle(kPart);
    CHECK_FALSE(cluster.runs());
    const json workloads = cluster.list(kWorkloads);
    REQUIRE(workloads.size() == 2);
    CHECK(workloads[0]["metadata"]["ownerReferences"][0]["name"] == "train-w-0");
  }
}

TEST_CASE("what a Job asks for must be known before it runs without a queue name") {
  Parts cluster;
  cluster.settings.queues.rules.manage_jobs_without_queue_name = true;
  cluster.owned_by(controlled_by(kJobSets, "train", "old-uid"));
  CHECK(cluster.settle(kPart) == kOneStop);
  CHECK_FALSE(cluster.runs());
}

TEST_CASE("a job that leaves the queues leaves no Workload behind") {
  Parts cluster;
  cluster.owned_by(json::array());
  cluster.edit(kJobs, "train-w-0", [](json& job) {
    job["metadata"]["labels"] = kInQueue;
    job["spec"]["suspend"] = true;
  });
  cluster.settle(kPart);
  REQUIRE(cluster.list(kWorkloads).size() == 2);
  const auto leave = [](json& job) { job["metadata"]["labels"] = json::object(); };
  SUBCASE("it waits") {
    cluster.edit(kJobs, "train-w-0", leave);
    cluster.settle(kPart);
    CHECK(cluster.list(kWorkloads).size() == 1);
  }
  SUBCASE("it runs and keeps the quota until it ends") {
    cluster.edit(kJobs, "train-w-0", [](json& job) { job["spec"]["suspend"] = false; });
    cluster.edit(kJobs, "train-w-0", leave);
    CHECK(cluster.settle(kPart).empty());
    CHECK(cluster.list(kWorkloads).size() == 2);
    cluster.edit(kJobs, "train-w-0", [](json& job) {
      job["status"]["conditions"] =
          json::array({{{"type", "Complete"}, {"status", "True"}, {"lastTransitionTime", "2026-01-01T11:30:00Z"}}});
    });
    cluster.settle(kPart);
    CHECK(cluster.list(kWorkloads)[0]["status"]["conditions"][0]["type"] == "Finished");
  }
  SUBCASE("every job is managed, so it stays without a queue") {
    cluster.settings.queues.rules.manage_jobs_without_queue_name = true;
    cluster.edit(kJobs, "train-w-0", leave);
    CHECK(cluster.settle(kPart).size() == 1);
    CHECK(cluster.list(kWorkloads).size() == 2);
    CHECK_FALSE(cluster.list(kWorkloads)[0]["spec"].contains("queueName"));
  }
}

TEST_CASE("a JobSet that leaves the queues keeps its quota as long as one of its Jobs has pods") {
  Parts cluster;
  const ObjectKey key{&kJobSets, "team-a", "train"};
  cluster.edit(kJobSets, "train", [](json& jobset) { jobset["metadata"]["labels"] = json::object(); });
  // Its status does not say so yet.
  cluster.edit(kJobs, "train-w-0", [](json& job) {
    job["metadata"]["labels"] = {{"jobset.sigs.k8s.io/jobset-name", "train"}};
    job["spec"]["suspend"] = true;
    job["status"]["active"] = 1;
  });
  cluster.settle(key);
  CHECK(cluster.list(kWorkloads).size() == 1);
  cluster.stop_pods("train-w-0");
  cluster.settle(key);
  CHECK(cluster.list(kWorkloads).empty());
}

}  // namespace job_workload_standing_test
