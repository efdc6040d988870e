#include "state/unsupported.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/workload/workload.h"
#include "test/reconcilers/job/job_cluster.h"
#include "test/reconcilers/jobset/jobset_cluster.h"
#include "test/reconcilers/queues/queue_cluster.h"

namespace unsupported_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;

namespace {

Texts whats(const ResourceType& type, json object, const ReconcilerSettings& settings) {
  object["metadata"]["name"] = "one";
  if (type.namespaced && !object["metadata"].contains("namespace")) object["metadata"]["namespace"] = "team-a";
  Texts texts;
  for (const Unsupported& found : unsupported_in(read_object(type, object), settings)) {
    CHECK(found.note.ends_with('.'));
    texts.push_back(found.what);
  }
  return texts;
}

json owned_by(const char* api_version, const char* kind) {
  return {{"metadata", {{"ownerReferences", controlled_by(api_version, kind, "own", "u")}}}};
}

ReconcilerSettings native() {
  ReconcilerSettings settings;
  settings.queues.rules.jobset_mode = JobSetMode::kNative;
  settings.own_namespace = "muster-system";
  return settings;
}

// JobSets that muster cannot run, each by one thing.
struct JobSetRow {
  json object;
  const char* what;
};
const JobSetRow kJobSetRows[] = {
    {{{"spec", {{"failurePolicy", {{"restartStrategy", "RestartSlowly"}}}}}}, "restartStrategy"},
    {{{"spec", {{"failurePolicy", {{"rules", {{{"action", "Sleep"}}}}}}}}}, "action"},
    {{{"spec",
       {{"replicatedJobs", {{{"name", "w"}, {"replicas", 1025}}}},
        {"failurePolicy", {{"rules", {{{"action", "RestartJob"}}}}}}}}},
     "replicas"},
};

}  // namespace

TEST_CASE("unsupported: what asks for a thing that muster does not do is found and nothing else") {
  struct Row {
    const char* name;
    const ResourceType& type;
    json object;
    Texts expected;
  };
  const json queued = {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
                       {"spec", {{"managedBy", "kueue.x-k8s.io/multikueue"}}}};
  json finished = owned_by("ray.io/v1", "RayJob");
  finished["status"]["conditions"] = {{{"type", "Finished"}, {"status", "True"}}};
  const Row rows[] = {
      {"a plain flavor", kResourceFlavors, {{"spec", json::object()}}, {}},
      {"a flavor with a topology", kResourceFlavors, {{"spec", {{"topologyName", "t"}}}}, {"topologyName"}},
      {"a check of somebody", kAdmissionChecks, {{"spec", {{"controllerName", "example.com/c"}}}}, {}},
      {"a check of Kueue",
       kAdmissionChecks,
       {{"spec", {{"controllerName", "kueue.x-k8s.io/provisioning-request"}}}},
       {"controllerName"}},
      {"a check of MultiKueue",
       kAdmissionChecks,
       {{"spec", {{"controllerName", "kueue.x-k8s.io/multikueue"}}}},
       {"controllerName"}},
      {"a queue ordered by usage and with two policies",
       kClusterQueues,
       {{"spec",
         {{"admissionScope", {{"admissionMode", "UsageBasedAdmissionFairSharing"}}},
          {"concurrentAdmissionPolicy", json::object()}}}},
       {"concurrentAdmissionPolicy", "admissionScope"}},
      {"a queue that says that it is not ordered by usage",
       kClusterQueues,
       {{"spec", {{"admissionScope", {{"admissionMode", "NoAdmissionFairSharing"}}}}}},
       {}},
      {"a LocalQueue with a share", kLocalQueues, {{"spec", {{"fairSharing", {{"weight", "2"}}}}}}, {"fairSharing"}},
      {"a Workload of nobody", kWorkloads, json::object(), {}},
      {"a Workload of a Job", kWorkloads, owned_by("batch/v1", "Job"), {}},
      {"a Workload of a RayJob", kWorkloads, owned_by("ray.io/v1", "RayJob"), {"owner"}},
      {"a finished one", kWorkloads, finished, {}},
      {"a Job for another cluster", kJobs, queued, {"managedBy"}},
      {"a JobSet for another cluster", kJobSets, queued, {"managedBy"}},
      {"a Job for another cluster that is in no queue", kJobs, {{"spec", queued["spec"]}}, {}},
      {"a plain JobSet", kJobSets, {{"spec", json::object()}}, {}},
      {"a JobSet in a namespace without webhooks",
       kJobSets,
       {{"metadata", {{"namespace", "kube-system"}}}},
       {"namespace"}},
      {"a JobSet beside muster", kJobSets, {{"metadata", {{"namespace", "muster-system"}}}}, {"namespace"}},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    CHECK(whats(row.type, row.object, native()) == row.expected);
  }
  for (const JobSetRow& row : kJobSetRows) {
    INFO(row.object.dump());
    CHECK(whats(kJobSets, row.object, native()) == Texts{row.what});
    // Beside JobSet's own controller it is that one's business.
    CHECK(whats(kJobSets, row.object, {}).empty());
    json managed = row.object;
    managed["spec"]["managedBy"] = "example.com/other";
    CHECK(whats(kJobSets, managed, native()).empty());
  }
  ReconcilerSettings jobs_only = native();
  jobs_only.queues.rules.frameworks = {"batch/job"};
  CHECK(whats(kWorkloads, owned_by("jobset.x-k8s.io/v1alpha2", "JobSet"), jobs_only) == Texts{"owner"});
  ReconcilerSettings with_rays = native();
  with_rays.queues.rules.external_frameworks = {"RayJob.v1.ray.io"};
  CHECK(whats(kWorkloads, owned_by("ray.io/v1", "RayJob"), with_rays).empty());
  CHECK(whats(kWorkloads, owned_by("example.com/v1", "RayJob"), with_rays) == Texts{"owner"});
}

TEST_CASE("unsupported: a JobSet that muster cannot run is told so and gets no Jobs") {
  for (const JobSetRow& row : kJobSetRows) {
    INFO(row.object.dump());
    json jobset = train_jobset();
    jobset.merge_patch(row.object);
    JobSetCluster cluster(jobset);
    CHECK(cluster.settle() == Texts{"status jobsets/train"});
    CHECK(cluster.condition("Unsupported") == "True UnsupportedFeature");
    CHECK(cluster.jobs().empty());
  }
  JobSetCluster cluster;
  cluster.settings.own_namespace = kNs;
  CHECK(cluster.settle().empty());
  CHECK(cluster.jobs().empty());
}

TEST_CASE("unsupported: Jobs that such a JobSet has run to their end and are not restarted") {
  const json unknown = {{"spec", {{"failurePolicy", {{"maxRestarts", 3}, {"restartStrategy", "RestartSlowly"}}}}}};
  const auto running = [&] {
    JobSetCluster cluster;
    cluster.settle();
    cluster.run_all();
    cluster.settle();
    cluster.patch(kJobSets, "train", unknown);
    cluster.settle();
    return cluster;
  };
  SUBCASE("a failure is left alone") {
    JobSetCluster cluster = running();
    cluster.fail("train-workers-1");
    cluster.settle();
    CHECK(cluster.status().value("restarts", 0) == 0);
    CHECK(cluster.condition("Failed").empty());
    CHECK(cluster.jobs().size() == 3);
  }
  SUBCASE("a success is told") {
    JobSetCluster cluster = running();
    for (const std::string& name : cluster.jobs()) cluster.complete(name);
    cluster.settle();
    CHECK(cluster.condition("Completed") == "True AllJobsCompleted");
  }
  SUBCASE("they are suspended with it and not resumed") {
    JobSetCluster cluster = running();
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
    cluster.settle();
    CHECK(cluster.get(kJobs, "train-workers-1")["spec"]["suspend"] == true);
    for (const std::string& name : cluster.jobs()) cluster.job_status(name, {{"active", 0}, {"ready", 0}});
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
    cluster.settle();
    CHECK(cluster.get(kJobs, "train-workers-1")["spec"]["suspend"] == true);
  }
  SUBCASE("without what was not supported it is run") {
    JobSetCluster cluster = running();
    cluster.patch(kJobSets, "train", {{"spec", {{"failurePolicy", {{"restartStrategy", "Recreate"}}}}}});
    cluster.fail("train-workers-1");
    cluster.settle();
    CHECK(cluster.status()["restarts"] == 1);
    CHECK(cluster.condition("Unsupported") == "False Supported");
  }
}

TEST_CASE("unsupported: a queued JobSet that muster cannot run holds no quota") {
  JobCluster cluster;
  cluster.settings.queues.rules.jobset_mode = JobSetMode::kNative;
  json jobset = train_jobset({{"suspend", true}});
  jobset["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "q"}};
  cluster.put(kJobSets, jobset);
  const ObjectKey key{&kJobSets, "team-a", "train"};
  cluster.settle(key);
  CHECK(cluster.list(kWorkloads).size() == 1);
  cluster.edit(kJobSets, "train", [](json& object) {
    object["spec"]["failurePolicy"] = {{"restartStrategy", "RestartSlowly"}};
  });
  cluster.settle(key);
  CHECK(cluster.list(kWorkloads).empty());
}

TEST_CASE("unsupported: checks that nobody answers are inactive and hold no quota") {
  QueueCluster cluster;
  cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "nodes"}}}}}}});
  cluster.put(kAdmissionChecks, "nodes",
              {{"spec", {{"controllerName", "kueue.x-k8s.io/provisioning-request"}}},
               {"status", {{"conditions", {cluster.condition("Active", "True", "Active")}}}}});
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.reserved_status()));
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "False AdmissionCheckInactive");
  CHECK(cluster.workload_condition("QuotaReserved").starts_with("False"));
  CHECK_FALSE(cluster.status(kWorkloads, "wl").contains("admission"));
}

}  // namespace unsupported_test
