// muster as the JobSet controller asks the queues before it makes, resumes or grows a Job.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_quota_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

const json kInQueue = {{"kueue.x-k8s.io/queue-name", "q"}};

// In a queue; `admitted`: by a Workload of its pod sets.
JobSetCluster queued(bool admitted, json spec = json::object()) {
  json jobset = train_jobset(std::move(spec));
  jobset["metadata"]["labels"] = kInQueue;
  JobSetCluster cluster(jobset);
  const auto pod_set = [&](const char* name, int count, size_t index) {
    const json& pods = jobset["spec"]["replicatedJobs"][index]["template"]["spec"]["template"];
    return json{{"name", name}, {"count", count}, {"template", pods}};
  };
  json workload = {{"metadata", {{"ownerReferences", controlled_by(kJobSets, "train", "train-uid")}}},
                   {"spec", {{"queueName", "q"}, {"podSets", {pod_set("driver", 1, 0), pod_set("workers", 4, 1)}}}}};
  if (admitted)
    workload["status"] = {{"conditions", json::array({condition_at("2026-01-01T11:30:00Z", "Admitted", "True", "A")})}};
  cluster.put(kWorkloads, "jobset-train", workload);
  return cluster;
}

// The first worker, suspended, as a user made it before muster could.
void add_worker(JobSetCluster& cluster, const json& requests, const json& labels = json::object()) {
  json all = {{"jobset.sigs.k8s.io/replicatedjob-name", "workers"},
              {"jobset.sigs.k8s.io/job-index", "0"},
              {"jobset.sigs.k8s.io/restart-attempt", "0"}};
  all.update(labels);
  cluster.put(kJobs, "train-workers-0",
              {{"metadata",
                {{"labels", all},
                 {"creationTimestamp", cluster.stamp()},
                 {"ownerReferences", controlled_by(kJobSets, "train", "train-uid")}}},
               {"spec",
                {{"suspend", true},
                 {"completionMode", "Indexed"},
                 {"parallelism", 2},
                 {"completions", 2},
                 {"template", pod_template_of(requests)}}}});
}

bool is_suspended(const JobSetCluster& cluster, const char* job) {
  return cluster.get(kJobs, job)["spec"].value("suspend", false);
}

}  // namespace

TEST_CASE("jobset: a queued JobSet that is not admitted gets no Jobs, although it is not suspended") {
  JobSetCluster waiting = queued(false);
  waiting.settle();
  CHECK(waiting.jobs().empty());
  CHECK(waiting.reconcile().again_at);

  JobSetCluster admitted = queued(true);
  admitted.settle();
  CHECK(admitted.jobs().size() == 3);
}

TEST_CASE("jobset: an evicted Workload lets nothing start") {
  JobSetCluster cluster = queued(true);
  cluster.edit(kWorkloads, "jobset-train", [](json& workload) {
    workload["status"]["conditions"].push_back(condition_at("2026-01-01T11:40:00Z", "Evicted", "True", "Preempted"));
  });
  cluster.settle();
  CHECK(cluster.jobs().empty());
}

TEST_CASE("jobset: a Workload of other pod sets lets nothing start") {
  JobSetCluster cluster = queued(true);
  cluster.edit(kWorkloads, "jobset-train", [](json& workload) { workload["spec"]["podSets"][1]["count"] = 2; });
  cluster.settle();
  CHECK(cluster.jobs().empty());
}

TEST_CASE("jobset: a Job with larger pods than the quota has does not start and is made again") {
  JobSetCluster cluster = queued(true);
  add_worker(cluster, {{"cpu", "12"}});
  const Texts done = cluster.settle();
  CHECK(is_suspended(cluster, "train-workers-0"));
  CHECK(std::count(done.begin(), done.end(), "delete jobs/train-workers-0") == 1);
  CHECK(cluster.note_of("JobReplaced").starts_with("Warning: Job team-a/train-workers-0 requests more than"));
  cluster.collect_garbage();
  cluster.settle();
  CHECK_FALSE(is_suspended(cluster, "train-workers-0"));
  CHECK(cluster.get(kJobs, "train-workers-0")["spec"]["template"].dump().find("\"12\"") == std::string::npos);
}

TEST_CASE("jobset: a Job that requests what the JobSet says is resumed, whoever made it") {
  JobSetCluster cluster = queued(true);
  add_worker(cluster, json());
  cluster.settle();
  CHECK_FALSE(is_suspended(cluster, "train-workers-0"));
}

TEST_CASE("jobset: a JobSet in no queue leaves a Job alone that has a queue of its own") {
  JobSetCluster cluster;
  add_worker(cluster, json(), kInQueue);
  cluster.settle();
  CHECK(cluster.jobs().size() == 3);
  CHECK(is_suspended(cluster, "train-workers-0"));
  CHECK_FALSE(is_suspended(cluster, "train-workers-1"));
  // Its Workload has started it: a JobSet that is suspended takes it along.
  cluster.patch(kJobs, "train-workers-0", {{"spec", {{"suspend", false}}}});
  CHECK(cluster.settle().empty());
  cluster.edit(kJobSets, "train", [](json& jobset) { jobset["spec"]["suspend"] = true; });
  cluster.settle();
  CHECK(is_suspended(cluster, "train-workers-0"));
}

TEST_CASE("jobset: a JobSet in no queue resumes a Job whatever it requests") {
  JobSetCluster cluster;
  add_worker(cluster, {{"cpu", "12"}});
  cluster.settle();
  CHECK_FALSE(is_suspended(cluster, "train-workers-0"));
}

}  // namespace jobset_quota_test
