// Jobs of a JobSet that another user has changed or made.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_tampering_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

// A Job that names the JobSet as its controller.
json stranger() {
  return {{"metadata",
           {{"name", "train-workers-7"},
            {"labels",
             {{"jobset.sigs.k8s.io/replicatedjob-name", "workers"},
              {"jobset.sigs.k8s.io/job-index", "7"},
              {"jobset.sigs.k8s.io/restart-attempt", "0"}}},
            {"ownerReferences", controlled_by(kJobSets, "train", "train-uid")}}},
          {"spec", {{"parallelism", 50}}}};
}

}  // namespace

TEST_CASE("jobset: a Job that somebody let grow becomes what the template says") {
  JobSetCluster cluster = running();
  SUBCASE("both counts change together") {
    cluster.patch(kJobs, "train-workers-0", {{"spec", {{"parallelism", 50}, {"completions", 50}}}});
    const Plan plan = cluster.reconcile();
    REQUIRE(JobSetCluster::texts(plan) == Texts{"patch jobs/train-workers-0"});
    CHECK(plan.writes[0].body["spec"] == json{{"parallelism", 2}, {"completions", 2}});
  }
  SUBCASE("parallelism alone changes nothing where completions bound it") {
    cluster.patch(kJobs, "train-workers-0", {{"spec", {{"parallelism", 50}}}});
    CHECK(cluster.settle().empty());
  }
  SUBCASE("a work queue") {
    for (const char* list : {"train-workers-0", "train-workers-1"})
      cluster.patch(kJobs, list, {{"spec", {{"completionMode", "NonIndexed"}, {"completions", nullptr}}}});
    cluster.edit(kJobSets, "train", [](json& jobset) {
      jobset["spec"]["replicatedJobs"][1]["template"]["spec"].merge_patch(
          {{"completionMode", "NonIndexed"}, {"completions", nullptr}});
    });
    cluster.settle();
    cluster.patch(kJobs, "train-workers-0", {{"spec", {{"parallelism", 50}}}});
    const Plan plan = cluster.reconcile();
    REQUIRE(JobSetCluster::texts(plan) == Texts{"patch jobs/train-workers-0"});
    CHECK(plan.writes[0].body["spec"] == json{{"parallelism", 2}});
  }
  SUBCASE("completions that nobody can take back") {
    cluster.edit(kJobSets, "train",
                 [](json& jobset) { jobset["spec"]["replicatedJobs"][1]["template"]["spec"]["parallelism"] = 10; });
    cluster.settle();
    cluster.patch(kJobs, "train-workers-0", {{"spec", {{"parallelism", 50}, {"completions", 50}}}});
    CHECK(JobSetCluster::texts(cluster.reconcile()) == Texts{"delete jobs/train-workers-0"});
  }
}

TEST_CASE("jobset: Jobs that the JobSet does not ask for are deleted") {
  for (const char* label : {"jobset.sigs.k8s.io/replicatedjob-name", "jobset.sigs.k8s.io/job-index"}) {
    for (const char* value : {"workers", "0", "7", "x", "-1", ""}) {
      JobSetCluster cluster = running();
      json job = stranger();
      job["metadata"]["labels"][label] = value;
      cluster.put(kJobs, std::move(job));
      CHECK(JobSetCluster::texts(cluster.reconcile()) == Texts{"delete jobs/train-workers-7"});
    }
  }
}

}  // namespace jobset_tampering_test
