// What `muster explain` tells a reader to do about a job that is not queued yet, or in more than one step, gives
// another reason; and each remedy is followed by a test.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "jobs/job_kind.h"
#include "jobs/workload_name.h"
#include "test/explain/remedy_rows.h"
#include "test/support/files.h"

namespace muster::test::remedies_unqueued_test {
using namespace remedy_rows;

namespace {

Change put_job(const json& patch) {
  return [patch](ExplainCluster& cluster) { cluster.put(kJobs, ExplainCluster::job(patch)); };
}

void put_protected(ExplainCluster& cluster, const json& annotations) {
  json queue = ExplainCluster::cluster_queue({{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  queue["metadata"]["annotations"] = annotations;
  queue["metadata"]["annotations"][std::string(kPreemptionProtectionAnnotation)] = "1h";
  cluster.put(kClusterQueues, queue);
}

Change put_orphan(const json& labels) {
  return [labels](ExplainCluster& cluster) {
    cluster.settings.queues.rules.manage_jobs_without_queue_name = true;
    json object = ExplainCluster::job({{"metadata", {{"labels", labels}}}});
    object["metadata"]["ownerReferences"] = controlled_by(kJobSets, "gone", "u");
    cluster.put(kJobs, object);
  };
}

Change put_with_class(const char* name) {
  json job = json::object();
  job["spec"]["template"]["spec"]["priorityClassName"] = name;
  return put_job(job);
}

const ResourceType& pytorch_jobs() {
  return jobs::find_job_kind("kubeflow.org", "PyTorchJob")->type;
}

Change put_pytorch_job(const json& replicas) {
  return [replicas](ExplainCluster& cluster) {
    cluster.settings.queues.rules.frameworks.emplace("kubeflow.org/pytorchjob");
    cluster.put(pytorch_jobs(), {{"metadata", {{"name", "train"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                                 {"spec", {{"runPolicy", {{"suspend", true}}}, {"pytorchReplicaSpecs", replicas}}}});
  };
}

Change put_prebuilt(const json& workload) {
  return [workload](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job({{"metadata", {{"annotations", {{kPrebuiltWorkload, "mine"}}}}}}));
    cluster.put(kWorkloads, workload);
  };
}

std::string conflicting() {
  return jobs::workload_name({"batch", "Job", "train", "job-uid"}, "", 253);
}

// Who follows these remedies reads another reason: causes that come before a Workload is in a queue, and those that
// need more than one step.
std::vector<Row> unqueued_rows() {
  json other_shape = ExplainCluster::workload(
      {{"status", {{"conditions", {condition_at("2026-01-01T11:30:00Z", "Finished", "True", "OutOfSync")}}}}}, "mine");
  other_shape["spec"]["podSets"][0]["count"] = 3;
  return {
      {Cause::kNotFound, "no such job", [](ExplainCluster&) {}, "NotFound",
       "kubectl -n team-a get jobs,jobsets,workloads", put_job({})},
      {Cause::kNamespaceNotFound, "no such namespace",
       [](ExplainCluster& cluster) { cluster.vanish(kNamespaces, "team-a"); }, "NotFound", "kubectl get namespaces",
       put_job({})},
      {Cause::kNotInQueue, "no label", put_job({{"metadata", {{"labels", nullptr}}}}), "NoQueueName",
       "Queue it in LocalQueue lq: kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq --overwrite",
       put_job({})},
      {Cause::kStartOutside, "no label", put_job({{"metadata", {{"labels", nullptr}}}}), "NoQueueName",
       "kubectl -n team-a patch jobs train --type merge -p '{\"spec\":{\"suspend\":false}}'",
       put_job({{"metadata", {{"labels", nullptr}}}, {"spec", {{"suspend", false}}}})},
      {Cause::kPriorityClassMissing, "no such class",
       both(put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "gold"}}}}}}),
            [](ExplainCluster& cluster) {
              cluster.put(kWorkloadPriorityClasses, "golden", {{"value", 7}});
            }),
       "PriorityClassMissing", "kueue.x-k8s.io/priority-class=golden --overwrite",
       put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "golden"}}}}}})},
      {Cause::kPrebuiltMissing, "a Workload that is missing",
       put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/prebuilt-workload-name", "mine"}}}}}}),
       "PrebuiltWorkloadMissing", "Create the job again without metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]",
       put_job({})},
      {Cause::kIntegrationOff, "the integration is off",
       both(put_job({}),
            [](ExplainCluster& cluster) { cluster.settings.queues.rules.frameworks = {"jobset.x-k8s.io/jobset"}; }),
       "IntegrationDisabled", "Add batch/job to integrations.frameworks of muster's configuration",
       [](ExplainCluster& cluster) { cluster.settings.queues.rules.frameworks.emplace("batch/job"); }},
      {Cause::kNamespaceNotSelected, "the namespace is not selected",
       both(put_job({}),
            [](ExplainCluster& cluster) {
              cluster.settings.queues.rules.managed_jobs_namespace_selector =
                  *LabelSelector::parse({{"matchLabels", {{"team", "b"}}}});
            }),
       "NamespaceNotSelected",
       "kubectl patch namespace team-a --type merge -p '{\"metadata\":{\"labels\":{\"team\":\"b\"}}}'",
       [](ExplainCluster& cluster) {
         cluster.put(kNamespaces, kNs, {{"metadata", {{"labels", {{"team", "b"}}}}}});
       }},
      {Cause::kPodPriorityClassMissing, "no such class of the pods", put_with_class("silver"), "PriorityClassMissing",
       "Create the job again with an existing class in priorityClassName of its pod template",
       both(put_with_class("gold"),
            [](ExplainCluster& cluster) {
              cluster.put(kPriorityClasses, "gold", {{"value", 7}});
            })},
      {Cause::kPrebuiltTaken, "a Workload of another job",
       put_prebuilt(ExplainCluster::workload(json::object(), "mine", "other", "other-uid")), "PrebuiltWorkloadTaken",
       "Create the job again without metadata.annotations[", put_job({})},
      {Cause::kPrebuiltOutOfSync, "a Workload of another shape", put_prebuilt(other_shape), "PrebuiltWorkloadOutOfSync",
       "kubectl -n team-a delete workload mine", put_prebuilt(ExplainCluster::workload(json::object(), "mine"))},
      {Cause::kInvalidPodSets, "no pod templates", put_pytorch_job(json::object()), "InvalidPodSets",
       "Correct its pod templates. muster tries again when the job changes: kubectl -n team-a edit "
       "pytorchjobs.kubeflow.org train",
       put_pytorch_job({{"Master", {{"replicas", 1}, {"template", ExplainCluster::pod_template("1")}}}}),
       &pytorch_jobs()},
      {Cause::kOwnerNotQueued, "part of what does not exist", put_orphan(nullptr), "OwnerNotQueued",
       "queue this job in LocalQueue lq: kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq --overwrite",
       put_orphan({{kQueueNameLabel, "lq"}})},
      {Cause::kWorkloadNameConflict, "another Workload has the name",
       both(put_job({}),
            [](ExplainCluster& cluster) {
              cluster.put(kWorkloads, ExplainCluster::workload(json::object(), conflicting(), "other", "other-uid"));
            }),
       "WorkloadNameConflict", "Delete that Workload (an administrator): kubectl -n team-a delete workload job-train-",
       [](ExplainCluster& cluster) { cluster.vanish(kWorkloads, conflicting()); }},
      {Cause::kProtectedWorkloads, "the victims are protected",
       both(put_workload([](json& spec) { spec["priority"] = 10; }),
            [](ExplainCluster& cluster) {
              put_protected(cluster, json::object());
              cluster.put_other("low", -30, "3", cluster.admitted());
            }),
       "WaitingForProtectedWorkloads",
       "kubectl annotate clusterqueue cq muster.batch/preemption-protection-limit=5m --overwrite",
       [](ExplainCluster& cluster) {
         put_protected(cluster, {{"muster.batch/preemption-protection-limit", "5m"}});
         cluster.pass(5min);
       }},
  };
}

bool has_row(Cause cause) {
  const std::vector<Row> unqueued = unqueued_rows();
  return causes_of_admitted().contains(cause) ||
         std::any_of(unqueued.begin(), unqueued.end(), [&](const Row& row) { return row.of == cause; });
}

}  // namespace

TEST_CASE("explain: who follows the remedy of an unqueued job reads another reason") {
  for (const Row& row : unqueued_rows()) {
    CAPTURE(row.cause);
    ExplainCluster cluster;
    row.arrange(cluster);
    check_remedy(row, ask(row, cluster));
    row.follow(cluster);
    const ExplainReply after = ask(row, cluster);
    INFO(to_json(after).dump());
    CHECK(after.reason != row.reason);
    CHECK(after.reason != "NotFound");
  }
}

TEST_CASE("explain: who follows the remedy of a part reads about the whole") {
  ExplainCluster cluster;
  cluster.put(kJobSets, {{"metadata", {{"name", "all"}, {"uid", "u"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                         {"spec", {{"replicatedJobs", json::array()}}}});
  json part = ExplainCluster::job();
  part["metadata"]["ownerReferences"] = controlled_by(kJobSets, "all", "u");
  cluster.put(kJobs, part);
  const ExplainReply reply = cluster.ask();
  REQUIRE(reply.actions.size() == 1);
  CHECK(reply.actions[0].command == "kubectl muster explain jobset/all -n team-a");
  const ExplainReply whole = cluster.ask(kJobSets, "all");
  CHECK(whole.found);
  CHECK(whole.reason == "WorkloadNotCreated");
}

// Whose remedy is no change of an object of this cluster: the test that follows it.
TEST_CASE("explain: each cause has a remedy, and each remedy is followed by a test") {
  struct Test {
    const char *file, *name;
  };
  const Test doctor = {"test/commands/moving/doctor_test.cpp", "doctor: each illness has its severity and a command"};
  const std::map<Cause, Test> elsewhere = {
      {Cause::kPartOfQueued,
       {"test/explain/remedies_unqueued_test.cpp", "explain: who follows the remedy of a part reads about the whole"}},
      {Cause::kWorkloadNotCreated, doctor},
      {Cause::kAdmissionUnwritten, doctor}};
  for (const auto& [cause, test] : elsewhere) {
    const std::string source = read_file(std::string(MUSTER_SOURCE_DIR) + "/" + test.file);
    const std::string name = std::string("\"") + test.name + "\")";
    const size_t at = source.find(name);
    CHECK_MESSAGE((at != std::string::npos && source.rfind("TEST_CASE(", at) + 20 > at), test.name);
  }
  for (size_t i = 0; i < explain::kCauses; ++i) {
    CAPTURE(i);
    const Cause cause = static_cast<Cause>(i);
    bool has_remedy = false, has_action = false;
    for (const explain::Remedy& remedy : explain::remedies()) {
      if (remedy.cause != cause) continue;
      has_remedy = true;
      has_action = has_action || !remedy.by.empty();
      CHECK((remedy.by.empty() || remedy.by == kByYou || remedy.by == kByAdministrator));
    }
    CHECK(has_remedy);
    if (has_action) CHECK(has_row(cause) != elsewhere.contains(cause));
  }
}

}  // namespace muster::test::remedies_unqueued_test
