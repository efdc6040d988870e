// What runs on the quota of a job of a described kind: what its controller makes, as far as the quota goes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/job_kind.h"
#include "reconcilers/job/job_workload_standing.h"
#include "test/reconcilers/job/job_cluster.h"

namespace owned_parts_test {

using namespace muster;
using namespace muster::test;

namespace {

json pod_set(const char* name, int count, const char* cpu) {
  return {{"name", name}, {"count", count}, {"template", pod_template_of({{"cpu", cpu}})}};
}

const json kMpiJob = controlled_by("kubeflow.org/v2beta1", "MPIJob", "top", "top-uid");
const json kRayJob = controlled_by("ray.io/v1", "RayJob", "top", "top-uid");
const json kRayService = controlled_by("ray.io/v1", "RayService", "top", "top-uid");
const json kPyTorchJob = controlled_by("kubeflow.org/v1", "PyTorchJob", "top", "top-uid");

// A job in a queue, with an admitted Workload.
struct Whole : JobCluster {
  Whole(const char* group, const char* kind, const json& reference, const json& pod_sets) {
    const jobs::JobKind& job_kind = *jobs::find_job_kind(group, kind);
    settings.queues.rules.frameworks.emplace(job_kind.framework);
    settings.queues.rules.frameworks.emplace("ray.io/raycluster");
    put(job_kind.type, "top",
        {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}, {"spec", json::object()}});
    put(kWorkloads, "whole",
        {{"metadata", {{"ownerReferences", reference}}},
         {"spec", {{"queueName", "q"}, {"podSets", pod_sets}}},
         {"status",
          {{"conditions", json::array({condition_at("2026-01-01T11:30:00Z", "Admitted", "True", "Admitted")})}}}});
  }
  // A submitter has the name of its RayJob.
  static json part(const std::string& name, const json& owners, int second) {
    return {{"uid", name + "-part-uid"},
            {"creationTimestamp", "2026-01-01T11:00:0" + std::to_string(second) + "Z"},
            {"ownerReferences", owners}};
  }
  void add_job(const std::string& name, const json& owners, int pods, const char* cpu, int second) {
    put(kJobs, name,
        {{"metadata", part(name, owners, second)},
         {"spec", {{"suspend", false}, {"parallelism", pods}, {"template", pod_template_of({{"cpu", cpu}})}}}});
  }
  void add_ray_cluster(const char* name, const json& owners, int workers, int second) {
    const json pods = pod_template_of({{"cpu", "1"}});
    const json group = {{"groupName", "w"}, {"replicas", workers}, {"template", pods}};
    put(ray_cluster(), name,
        {{"metadata", part(name, owners, second)},
         {"spec",
          {{"suspend", false}, {"headGroupSpec", {{"template", pods}}}, {"workerGroupSpecs", json::array({group})}}}});
  }
  static const ResourceType& ray_cluster() { return jobs::find_job_kind("ray.io", "RayCluster")->type; }
  bool runs(const ResourceType& type, const char* name) {
    settle({&type, "team-a", name});
    return !get(type, name)["spec"].value("suspend", false);
  }
  bool job_runs(const char* name) { return runs(kJobs, name); }
  bool cluster_runs(const char* name) { return runs(ray_cluster(), name); }
};

}  // namespace

TEST_CASE("the launcher of an admitted MPIJob runs, and what somebody adds does not") {
  Whole whole("kubeflow.org", "MPIJob", kMpiJob,
              json::array({pod_set("launcher", 1, "1"), pod_set("worker", 10, "4")}));
  whole.add_job("top-launcher", kMpiJob, 1, "1", 0);
  CHECK(whole.job_runs("top-launcher"));
  SUBCASE("another Job as small") {
    whole.add_job("more", kMpiJob, 1, "100m", 1);
    whole.events.clear();
    CHECK_FALSE(whole.job_runs("more"));
    REQUIRE(whole.events.size() == 1);
    CHECK(whole.events[0].note ==
          "Suspended: this Job, with the older ones of its controller, requests more than the quota of MPIJob \"top\"");
    CHECK(whole.job_runs("top-launcher"));
  }
  SUBCASE("the launcher with devices") {
    whole.edit(kJobs, "top-launcher", [](json& job) {
      job["spec"]["template"]["spec"]["resourceClaims"] =
          json::array({{{"name", "gpu"}, {"resourceClaimName", "mine"}}});
    });
    CHECK_FALSE(whole.job_runs("top-launcher"));
  }
  SUBCASE("the launcher with the pods of the workers") {
    whole.edit(kJobs, "top-launcher", [](json& job) { job["spec"]["parallelism"] = 2; });
    CHECK_FALSE(whole.job_runs("top-launcher"));
  }
  SUBCASE("a RayCluster, which the MPI operator does not make") {
    whole.add_ray_cluster("more", kMpiJob, 1, 1);
    whole.edit(Whole::ray_cluster(), "more", [](json& object) {
      object["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "q"}};
    });
    CHECK_FALSE(whole.cluster_runs("more"));
    CHECK(whole.list(kWorkloads).size() == 2);
  }
}

TEST_CASE("below a kind that makes no jobs a Job is queued by itself") {
  Whole whole("kubeflow.org", "PyTorchJob", kPyTorchJob, json::array({pod_set("master", 1, "1")}));
  whole.add_job("more", kPyTorchJob, 50, "1", 1);
  whole.edit(kJobs, "more", [](json& job) { job["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "q"}}; });
  CHECK_FALSE(whole.job_runs("more"));
  CHECK(whole.list(kWorkloads).size() == 2);
}

TEST_CASE("the RayCluster and the submitter of an admitted RayJob run, each on its own part of the quota") {
  Whole whole("ray.io", "RayJob", kRayJob,
              json::array({pod_set("head", 1, "1"), pod_set("w", 3, "1"), pod_set("submitter", 1, "500m")}));
  whole.add_ray_cluster("top-cluster", kRayJob, 3, 0);
  whole.add_job("top", kRayJob, 1, "500m", 1);
  CHECK(whole.cluster_runs("top-cluster"));
  CHECK(whole.job_runs("top"));
  whole.add_ray_cluster("more", kRayJob, 1, 2);
  CHECK_FALSE(whole.cluster_runs("more"));
  whole.add_job("more", kRayJob, 1, "1m", 2);
  CHECK_FALSE(whole.job_runs("more"));
  SUBCASE("a part of a part that may not run does not run either") {
    const json more = controlled_by("ray.io/v1", "RayCluster", "more", "more-part-uid");
    whole.add_job("below", more, 1, "1", 3);
    CHECK_FALSE(whole.job_runs("below"));
  }
  SUBCASE("a part of a part runs as far as the part between goes") {
    const json cluster = controlled_by("ray.io/v1", "RayCluster", "top-cluster", "top-cluster-part-uid");
    whole.add_job("redis-cleanup", cluster, 1, "200m", 3);
    CHECK(whole.job_runs("redis-cleanup"));
    whole.add_job("too-large", cluster, 1, "1", 4);
    CHECK_FALSE(whole.job_runs("too-large"));
  }
}

TEST_CASE("a RayService has two clusters while one replaces the other, and not three") {
  Whole whole("ray.io", "RayService", kRayService, json::array({pod_set("head", 1, "1"), pod_set("w", 2, "1")}));
  whole.add_ray_cluster("a", kRayService, 2, 0);
  whole.add_ray_cluster("b", kRayService, 2, 1);
  whole.add_ray_cluster("c", kRayService, 2, 2);
  CHECK(whole.cluster_runs("a"));
  CHECK(whole.cluster_runs("b"));
  CHECK_FALSE(whole.cluster_runs("c"));
}

TEST_CASE("thousands of parts that request nothing cost no more than a hundred, and the rest does not run") {
  Whole whole("kubeflow.org", "MPIJob", kMpiJob, json::array({pod_set("launcher", 1, "1")}));
  for (int i = 0; i < 102; ++i) whole.add_job("part-" + std::to_string(1000 + i), kMpiJob, 0, "1", 0);
  CHECK(whole.job_runs("part-1000"));
  CHECK(whole.job_runs("part-1100"));
  CHECK_FALSE(whole.job_runs("part-1101"));
}

}  // namespace owned_parts_test
