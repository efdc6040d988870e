#include "explain/explain.h"

#include "jobs/job_kind.h"
#include "test/explain/explain_rows.h"

namespace muster::test::explain_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("explain: a job that is no business of the queues says why and who would start it") {
  const auto job = [](const json& patch) {
    return [patch](ExplainCluster& cluster) { cluster.put(kJobs, ExplainCluster::job(patch)); };
  };
  const json no_queue = {{"metadata", {{"labels", nullptr}}}};
  json running = no_queue;
  running["spec"]["suspend"] = false;
  running["status"] = {{"active", 2}, {"ready", 2}};
  const ExplainRow rows[] = {
      {"there is none",
       [](ExplainCluster&) {},
       "NotFound",
       "There is no Job team-a/train.",
       {"Perhaps it is not a Job"}},
      {"there is no namespace", [](ExplainCluster& cluster) { cluster.vanish(kNamespaces, "team-a"); }, "NotFound",
       "Namespace not found: team-a."},
      {"it has no queue name",
       job(no_queue),
       "NoQueueName",
       "is suspended, and muster will not start it",
       {"kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq"}},
      {"it has no queue name and runs", job(running), "Running", "is running: 2/2 pods ready", {"It is in no queue"}},
      {"another controller manages it",
       job({{"spec", {{"managedBy", "example.com/other"}}}}),
       "ManagedByOther",
       "muster will not start it",
       {"example.com/other"}},
      {"it is being deleted", job({{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}}), "BeingDeleted",
       "is being deleted"},
      {"it has failed",
       job({{"status",
             {{"conditions", {{{"type", "Failed"}, {"status", "True"}, {"message", "too many pods failed."}}}}}}}),
       "Finished", "has failed: too many pods failed."},
      {"a JobSet owns it",
       [](ExplainCluster& cluster) {
         cluster.put(kJobSets, {{"metadata", {{"name", "all"}, {"uid", "u"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                                {"spec", {{"replicatedJobs", json::array()}}}});
         json owned = ExplainCluster::job();
         owned["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                  {"kind", "JobSet"},
                                                  {"name", "all"},
                                                  {"uid", "u"},
                                                  {"controller", true}}};
         cluster.put(kJobs, owned);
       },
       "OwnedByQueuedJob",
       "muster will not start it",
       {"part of JobSet all", "muster explain jobset/all -n team-a"}},
  };
  for (const ExplainRow& row : rows) check_row(row, ExplainCluster());

  ReconcilerSettings settings;
  settings.queues.rules.frameworks = {"jobset.x-k8s.io/jobset"};
  check_row({"the integration is off", job({}), "IntegrationDisabled", "muster will not start it", {"lacks batch/job"}},
            ExplainCluster(settings));
  settings = {};
  settings.queues.rules.managed_jobs_namespace_selector = *LabelSelector::parse({{"matchLabels", {{"team", "b"}}}});
  check_row({"the namespace is not selected",
             job({}),
             "NamespaceNotSelected",
             "muster will not start it",
             {"does not match namespace team-a"}},
            ExplainCluster(settings));
}

TEST_CASE("explain: a part of a job says which one to ask about, and why it may not run although that one does") {
  const auto with_part = [](int pods) {
    return [pods](ExplainCluster& cluster) {
      const json mpi_job = {{{"apiVersion", "kubeflow.org/v2beta1"},
                             {"kind", "MPIJob"},
                             {"name", "all"},
                             {"uid", "u"},
                             {"controller", true}}};
      cluster.put(jobs::find_job_kind("kubeflow.org", "MPIJob")->type,
                  {{"metadata", {{"name", "all"}, {"uid", "u"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                   {"spec", json::object()}});
      json workload = ExplainCluster::workload(cluster.admitted());
      workload["metadata"]["ownerReferences"] = mpi_job;
      workload["spec"]["podSets"][0]["name"] = "launcher";
      cluster.put(kWorkloads, workload);
      json part = ExplainCluster::job({{"spec", {{"parallelism", pods}, {"completions", pods}}}});
      part["metadata"]["ownerReferences"] = mpi_job;
      cluster.put(kJobs, part);
    };
  };
  ReconcilerSettings settings;
  settings.queues.rules.frameworks.emplace("kubeflow.org/mpijob");
  check_row({"as large as the quota",
             with_part(2),
             "OwnedByQueuedJob",
             "muster will not start it",
             {"It is part of MPIJob all, which is queued as a whole.", "muster explain mpijob/all -n team-a"}},
            ExplainCluster(settings));
  check_row(
      {"larger",
       with_part(3),
       "OwnedByQueuedJob",
       "muster will not start it",
       {"It may not run: this Job, with the older ones of its controller, requests more than the quota of MPIJob"}},
      ExplainCluster(settings));
}

TEST_CASE("explain: a Job that claims to be part of what is not there says so") {
  ReconcilerSettings settings;
  settings.queues.rules.manage_jobs_without_queue_name = true;
  const auto orphan = [](ExplainCluster& cluster) {
    json object = ExplainCluster::job({{"metadata", {{"labels", nullptr}}}});
    object["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                              {"kind", "JobSet"},
                                              {"name", "gone"},
                                              {"uid", "u"},
                                              {"controller", true}}};
    cluster.put(kJobs, object);
  };
  check_row({"its JobSet is not there",
             orphan,
             "OwnerNotQueued",
             "says that it is part of JobSet gone, which does not exist or is in no queue",
             {"set a queue on this job"}},
            ExplainCluster(settings));
}

TEST_CASE("explain: a queued job without a Workload says what it waits for") {
  const auto job = [](const json& patch) {
    return [patch](ExplainCluster& cluster) { cluster.put(kJobs, ExplainCluster::job(patch)); };
  };
  const json labelled = {{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "gold"}}}}}};
  json of_pods = json::object();
  of_pods["spec"]["template"]["spec"]["priorityClassName"] = "silver";
  const ExplainRow rows[] = {
      {"it was not made yet", job({}), "WorkloadNotCreated", "has no Workload yet"},
      {"its WorkloadPriorityClass is missing", job(labelled), "PriorityClassMissing",
       "WorkloadPriorityClass gold does not exist"},
      {"the PriorityClass of its pods is missing", job(of_pods), "PriorityClassMissing", "does not exist"},
      {"its pods still run", job({{"status", {{"active", 1}}}}), "Stopping", "when its remaining pods are deleted"},
      {"it names a Workload that is missing",
       job({{"metadata", {{"labels", {{"kueue.x-k8s.io/prebuilt-workload-name", "mine"}}}}}}),
       "PrebuiltWorkloadMissing", "waits for Workload mine"},
      {"it names a Workload of another job",
       [](ExplainCluster& cluster) {
         cluster.put(kJobs, ExplainCluster::job({{"metadata", {{"annotations", {{kPrebuiltWorkload, "mine"}}}}}}));
         cluster.put(kWorkloads, ExplainCluster::workload(cluster.admitted(), "mine", "other", "other-uid"));
       },
       "PrebuiltWorkloadTaken", "cannot run by Workload mine, which belongs to Job other"},
      {"it names a Workload of another shape",
       [](ExplainCluster& cluster) {
         cluster.put(kJobs, ExplainCluster::job({{"metadata", {{"annotations", {{kPrebuiltWorkload, "mine"}}}}}}));
         json mine = ExplainCluster::workload(
             {{"status", {{"conditions", {cluster.condition("Finished", true, "OutOfSync")}}}}}, "mine");
         mine["spec"]["podSets"][0]["count"] = 3;
         cluster.put(kWorkloads, mine);
       },
       "PrebuiltWorkloadOutOfSync",
       "which was made for another one",
       {"spec.podSets[0].count is 3, and the job's is 2"}},
  };
  for (const ExplainRow& row : rows) check_row(row, ExplainCluster());
}

TEST_CASE("explain: a Workload that its queues keep out says which one and who mends it") {
  const auto waiting = [](std::function<void(ExplainCluster&)> change) {
    return [change = std::move(change)](ExplainCluster& cluster) {
      change(cluster);
      cluster.put(kJobs, ExplainCluster::job());
      cluster.put(kWorkloads, ExplainCluster::workload());
    };
  };
  const auto queue = [&](const json& spec) {
    return waiting(
        [spec](ExplainCluster& cluster) { cluster.put(kClusterQueues, ExplainCluster::cluster_queue(spec)); });
  };
  const ExplainRow rows[] = {
      {"the LocalQueue is missing",
       waiting([](ExplainCluster& c) { c.remove(kLocalQueues, "lq"); }),
       "LocalQueueMissing",
       "LocalQueue lq, which does not exist in team-a",
       {"kubectl -n team-a get localqueues"}},
      {"the LocalQueue is stopped", waiting([](ExplainCluster& c) {
         c.put(kLocalQueues,
               {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}}}});
       }),
       "LocalQueueStopped", "LocalQueue lq is stopped"},
      {"the ClusterQueue is missing", waiting([](ExplainCluster& c) { c.remove(kClusterQueues, "cq"); }),
       "ClusterQueueMissing", "ClusterQueue cq, which does not exist"},
      {"the ClusterQueue is stopped", queue({{"stopPolicy", "Hold"}}), "ClusterQueueStopped",
       "ClusterQueue cq is stopped"},
      {"a flavor is missing",
       waiting([](ExplainCluster& c) { c.remove(kResourceFlavors, "f1"); }),
       "ClusterQueueInactive",
       "cannot admit anything (FlavorNotFound)",
       {"missing ResourceFlavor(s): f1"}},
      {"a check is missing",
       queue({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "budget"}}}}}}}),
       "ClusterQueueInactive",
       "(AdmissionCheckNotFound)",
       {"budget"}},
      {"the ClusterQueue does not take the namespace",
       queue({{"namespaceSelector", {{"matchLabels", {{"team", "b"}}}}}}), "NamespaceNotAdmitted",
       "does not admit workloads of namespace team-a"},
  };
  for (const ExplainRow& row : rows) check_row(row, ExplainCluster());
  check_row({"its admission is gated", with_workload([](ExplainCluster&) {
               return json{{"metadata", {{"annotations", {{kAdmissionGatedByAnnotation, "example.com/gate"}}}}}};
             }),
             "AdmissionGated", "waits for its admission gates: example.com/gate"},
            ExplainCluster());
}

TEST_CASE("explain: from reservation to the end a Workload says what it waits for") {
  const auto check_state = [](const char* name, const char* state, const char* message) {
    return json{{"name", name}, {"state", state}, {"message", message}, {"lastTransitionTime", "2026-01-01T11:30:00Z"}};
  };
  const json starts = {{"spec", {{"suspend", false}}}, {"status", {{"active", 2}, {"ready", 1}}}};
  json runs = starts;
  runs["status"]["ready"] = 2;
  const auto admitted = [](const json& more = json::array()) {
    return [more](ExplainCluster& cluster) { return cluster.admitted(more); };
  };
  const ExplainRow rows[] = {
      {"its checks are pending",
       with_workload([&](ExplainCluster& cluster) {
         json patch = cluster.reserved();
         patch["status"]["admissionChecks"] = {check_state("budget", "Pending", "asking"),
                                               check_state("ok", "Ready", "")};
         return patch;
       }),
       "UnsatisfiedAdmissionChecks",
       "waits for admission checks: budget.",
       {"AdmissionCheck budget is Pending: asking"}},
      {"it is about to be started", with_workload(admitted()), "Starting", "about to be started", {"6 cpu of f1"}},
      {"its pods are not ready",
       with_workload(admitted(), starts),
       "PodsNotReady",
       "1 of its 2 pods are ready",
       {"2026-01-01T12:04:00Z, in 4m0s", "kubectl -n team-a get pods -l batch.kubernetes.io/job-name=train"}},
      {"a pod has failed",
       with_workload(
           [](ExplainCluster& c) {
             return c.admitted(json::array({c.condition("PodsReady", false, "WaitForRecovery", "", 30s)}));
           },
           starts),
       "PodsNotReady",
       "1 of its 2 pods are ready",
       {"2026-01-01T12:02:30Z, in 2m30s", "a pod has failed"}},
      {"it runs", with_workload(admitted(), runs), "Running", "is running: 2/2 pods ready"},
      {"asked for by its Workload",
       with_workload(admitted(), runs),
       "Running",
       "Workload team-a/job-train is running",
       {},
       &kWorkloads},
      {"it is evicted and its pods run",
       with_workload(
           [](ExplainCluster& c) {
             return c.admitted(json::array(
                 {c.condition("Evicted", true, "PodsReadyTimeout", "Exceeded the PodsReady timeout team-a/x")}));
           },
           runs),
       "Stopping", "was evicted (PodsReadyTimeout), and its pods are still stopping"},
      {"it is finished", with_workload([](ExplainCluster& c) {
         return json{
             {"status", {{"conditions", {c.condition("Finished", true, "Succeeded", "Job finished successfully")}}}}};
       }),
       "Finished", "has finished: Succeeded: Job finished successfully."},
  };
  for (const ExplainRow& row : rows) check_row(row, ExplainCluster(with_pods_ready()));
}

TEST_CASE("explain: backoff says which try comes next and when") {
  ExplainCluster cluster(with_pods_ready());
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload(
                              {{"status",
                                {{"requeueState", {{"count", 2}, {"requeueAt", "2026-01-01T12:00:12Z"}}},
                                 {"conditions",
                                  {cluster.condition("Evicted", true, "PodsReadyTimeout", "late"),
                                   cluster.condition("Requeued", false, "PodsReadyTimeout", "late"),
                                   cluster.condition("QuotaReserved", false, "PendingEvaluation", "late")}}}}}));
  cluster.follow();
  const ExplainReply reply = cluster.ask();
  CHECK(reply.reason == "Backoff");
  CHECK(reply.headline ==
        "Job team-a/train waits before its next attempt: attempt 3 begins at 2026-01-01T12:00:12Z, in 12s.");
  REQUIRE(reply.tries);
  CHECK(reply.tries->failed == 2);
  CHECK(reply.tries->limit == 4);
  CHECK(format_rfc3339(reply.tries->next_at) == "2026-01-01T12:00:12Z");
  CHECK(reply.timeline.front().what == "Workload created");
  cluster.pass(12s);
  cluster.follow();
  CHECK(cluster.ask().reason != "Backoff");
}

TEST_CASE("explain: what is deactivated says by what and how it comes back") {
  struct Deactivation {
    const char* name;
    const char* evicted;
    const char* headline;
  };
  const Deactivation rows[] = {
      {"by hand", "Deactivated", "was deactivated by hand"},
      {"after its last try", "DeactivatedDueToRequeuingLimitExceeded", "was deactivated"},
      {"after its longest time", "DeactivatedDueToMaximumExecutionTimeExceeded",
       "it has used its maximum execution time"},
      {"by a check", "DeactivatedDueToAdmissionCheck", "was deactivated: why"},
  };
  for (const Deactivation& row : rows) {
    INFO(std::string(row.name));
    ExplainCluster cluster;
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads,
                ExplainCluster::workload(
                    {{"spec", {{"active", false}}},
                     {"status", {{"conditions", {cluster.condition("Evicted", true, row.evicted, "why")}}}}}));
    const ExplainReply reply = cluster.ask();
    CHECK(reply.reason == row.evicted);
    CHECK(reply.headline.find(row.headline) != std::string::npos);
    REQUIRE(!reply.change.empty());
    CHECK(reply.change.back().find("patch workload job-train --type merge -p '{\"spec\":{\"active\":true}}'") !=
          std::string::npos);
  }
}

TEST_CASE("explain: a job that was deactivated after its last try counts it, and expects no other one") {
  ExplainCluster cluster(with_pods_ready());
  cluster.put(kJobs, ExplainCluster::job());
  const std::string message =
      "The workload is deactivated due to exceeding the maximum number of re-queuing retries (Pod p cannot be "
      "scheduled "
      "(Unschedulable): 0/4 nodes)";
  cluster.put(kWorkloads,
              ExplainCluster::workload(
                  {{"spec", {{"active", false}}},
                   {"status",
                    {{"requeueState", {{"count", 3}, {"requeueAt", "2026-01-01T12:00:12Z"}}},
                     {"conditions",
                      {cluster.condition("Evicted", true, "DeactivatedDueToRequeuingLimitExceeded", message),
                       cluster.condition("Requeued", false, "DeactivatedDueToRequeuingLimitExceeded", message),
                       cluster.condition("QuotaReserved", false, "PendingEvaluation", message)}}}}}));
  const ExplainReply reply = cluster.ask();
  REQUIRE(reply.tries);
  CHECK(reply.tries->failed == 4);
  CHECK(reply.tries->limit == 4);
  CHECK(reply.tries->next_at.is_zero());
  REQUIRE(!reply.because.empty());
  CHECK(reply.because[0] == message + ".");
  REQUIRE(reply.change.size() == 2);
  CHECK(reply.change[0].starts_with("Correct first what delayed its pods"));
  for (const ExplainedMoment& moment : reply.timeline) {
    CHECK(moment.what.find("next attempt") == std::string::npos);
    CHECK(!moment.what.starts_with("Waits"));
  }
}

TEST_CASE("explain: what muster does not do and what the API server refuses is told") {
  ReconcilerSettings settings;
  settings.native_jobsets = true;
  ExplainCluster cluster(settings);
  cluster.put(kJobSets, {{"metadata", {{"name", "sets"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                         {"spec", {{"failurePolicy", {{"restartStrategy", "RestartSlowly"}}}}}});
  ExplainReply reply = cluster.ask(kJobSets, "sets");
  CHECK(reply.reason == "Unsupported");
  CHECK(reply.headline == "JobSet team-a/sets asks for what muster does not do.");
  REQUIRE(reply.because.size() == 1);
  CHECK(reply.because[0].starts_with("spec.failurePolicy.restartStrategy: RestartSlowly is not supported"));

  cluster.put(kJobs, ExplainCluster::job());
  cluster.state.note_rejection({&kJobs, "team-a", "train"}, {&kWorkloads, "team-a", "job-train"},
                               "exceeded quota: small");
  reply = cluster.ask();
  CHECK(reply.reason == "CreationRefused");
  CHECK(reply.headline == "Job team-a/train needs Workload job-train, which cannot be created: exceeded quota: small");
  cluster.put(kWorkloads, ExplainCluster::workload());
  CHECK(cluster.ask().reason != "CreationRefused");
}

}  // namespace
}  // namespace muster::test::explain_test
