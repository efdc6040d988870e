#include "explain/late_pods.h"

#include <doctest/doctest.h>

#include "api/workload.h"
#include "test/explain/explain_cluster.h"

namespace muster::test::late_pods_test {
namespace {

using namespace muster::explain;

ExplainReply not_ready() {
  ExplainReply reply;
  reply.kind = "Job";
  reply.ns = "team-a";
  reply.name = "train";
  reply.say(ExplainReason::kPodsNotReady, "Job team-a/train is admitted, and 0 of its 1 pods are ready.");
  reply.change = {"kubectl -n team-a get pods shows which."};
  return reply;
}

PodReason reason(PodProblem problem, const std::string& token, const std::string& text,
                 const std::string& container = "") {
  return {
      .problem = problem, .token = token, .kind = "Pod", .name = "p", .container = container, .text = text, .pods = 1};
}

}  // namespace

TEST_CASE("late pods: each reason has the remedy that fits") {
  struct Row {
    PodReason reason;
    const char* remedy;
  };
  const auto refused = [](const std::string& text) {
    return PodReason{
        .problem = PodProblem::kNotCreated, .token = "FailedCreate", .kind = "Job", .name = "train", .text = text};
  };
  const Row rows[] = {
      {refused("pods \"x\" is forbidden: exceeded quota: q, requested: cpu=3"), "describe resourcequotas"},
      {refused("pods \"x\" is forbidden: failed quota: q: must specify cpu"), "describe resourcequotas"},
      {refused("pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2"),
       "describe limitranges"},
      {refused("pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\""), "securityContext"},
      {refused("pods \"x\" is forbidden: error looking up service account a/b: serviceaccount \"b\" not found"),
       "Create the ServiceAccount"},
      {refused("admission webhook \"w\" denied the request: no"), "Correct what the webhook names"},
      {refused("something else"), "Correct what the API server names"},
      {reason(PodProblem::kUnschedulable, "Unschedulable", "0/4"), "Starts when a Node fits"},
      {reason(PodProblem::kContainer, "ErrImagePull", "no", "container main"), "imagePullSecret"},
      {reason(PodProblem::kContainer, "CreateContainerConfigError", "no", "container main"), "Create the ConfigMap"},
      {reason(PodProblem::kContainer, "CrashLoopBackOff", "no", "init container data"),
       "kubectl -n team-a logs p -c data --previous"},
      {reason(PodProblem::kFailed, "OOMKilled", "no", "container main"), "kubectl -n team-a logs p -c main"},
      {reason(PodProblem::kNode, "FailedMount", "no"), "kubectl -n team-a describe pod p"},
      {reason(PodProblem::kGated, "SchedulingGated", "no"), "must remove them"},
      {reason(PodProblem::kInitializing, "Initializing", "", "init container data"),
       "kubectl -n team-a logs p -c data"},
      {reason(PodProblem::kStarting, "ContainerCreating", ""), "kubectl -n team-a describe pod p"},
  };
  for (const Row& row : rows) {
    INFO(row.reason.token, " ", row.reason.text);
    ExplainReply reply = not_ready();
    add_pod_reason(row.reason, reply);
    REQUIRE(reply.change.size() == 1);
    CHECK_MESSAGE(reply.change[0].find(row.remedy) != std::string::npos, reply.change[0]);
    CHECK(reply.because.at(0) == sentence_of(row.reason) + ".");
    CHECK(reply.headline == "Job team-a/train is admitted, and 0 of its 1 pods are ready (" + row.reason.token + ").");
    CHECK(reply.reason == "PodsNotReady");
  }
}

TEST_CASE("late pods: an answer that pods do not concern stays as it is") {
  for (const ExplainReason token : {ExplainReason::kWaitingForQuota, ExplainReason::kRunning,
                                    ExplainReason::kStartBarrier, ExplainReason::kDeactivatedDueTo}) {
    ExplainReply reply = not_ready();
    reply.say(token, "Something.");
    const ExplainReply before = reply;
    add_pod_reason(reason(PodProblem::kUnschedulable, "Unschedulable", "0/4"), reply);
    CHECK(reply == before);
  }
}

TEST_CASE("late pods: whose pods they are, for each form of job") {
  ExplainCluster cluster;
  const auto late = [&](const std::string& workload) {
    const Workload* found = cluster.state.find<Workload>("team-a", workload);
    REQUIRE(found != nullptr);
    return late_job_of(*found, cluster.state);
  };
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload());
  auto job = late("job-train");
  REQUIRE(job);
  CHECK(job->job.api_version == "batch/v1");
  CHECK(job->job.name == "train");
  CHECK(job->pods.find("job-uid") != std::string::npos);
  CHECK(job->question.wanted == 2);
  CHECK(job->question.owner.uids == std::set<std::string, std::less<>>{"job-uid"});
  CHECK_FALSE(job->question.owner.by_name);
  // A Job of the same name that another object of that name owned.
  cluster.put(kWorkloads, ExplainCluster::workload(json::object(), "job-old", "train", "old-uid"));
  CHECK_FALSE(late("job-old"));

  cluster.put(
      kJobSets,
      {{"metadata", {{"name", "sets"}, {"uid", "sets-uid"}}},
       {"spec",
        {{"replicatedJobs",
          json::array(
              {{{"name", "w"},
                {"replicas", 2},
                {"template", {{"spec", {{"parallelism", 3}, {"template", ExplainCluster::pod_template("1")}}}}}}})}}}});
  const auto child = [&](const std::string& name, const std::string& owner) {
    cluster.put(kJobs, {{"metadata",
                         {{"name", name},
                          {"uid", name + "-uid"},
                          {"labels", {{kJobSetNameKey, "sets"}, {kReplicatedJobNameKey, "w"}}},
                          {"ownerReferences", controlled_by(kJobSets, "sets", owner)}}},
                        {"spec", {{"parallelism", 3}}}});
  };
  child("sets-w-0", "sets-uid");
  child("sets-w-1", "another uid");
  json of_set = ExplainCluster::workload(json::object(), "jobset-sets");
  of_set["metadata"]["ownerReferences"] = controlled_by(kJobSets, "sets", "sets-uid");
  cluster.put(kWorkloads, of_set);
  job = late("jobset-sets");
  REQUIRE(job);
  CHECK(job->question.wanted == 6);
  CHECK(job->question.owner.uids == std::set<std::string, std::less<>>{"sets-uid", "sets-w-0-uid"});

  const LateJob group = late_group_of("team-a", "group", 4);
  CHECK(group.pods == "kueue.x-k8s.io/pod-group-name=group");
  CHECK(group.question.owner.all);
  CHECK(group.job.name.empty());
}

}  // namespace muster::test::late_pods_test
