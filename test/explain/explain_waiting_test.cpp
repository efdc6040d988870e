// A Workload that waits for its turn, for quota or for others: the answers with numbers.
#include "explain/explain.h"

#include <algorithm>

#include "api/meta/constants.h"
#include "test/explain/reason_scenes.h"

namespace muster::test::explain_waiting_test {
namespace {

using namespace std::chrono_literals;

json of_pods(const std::string& cpu) {
  json spec = ExplainCluster::workload()["spec"];
  spec["podSets"][0]["template"] = ExplainCluster::pod_template(cpu);
  return {{"spec", spec}};
}

TEST_CASE("explain: a Workload that waits for quota has the numbers and who is ahead") {
  ExplainCluster cluster;
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload());
  cluster.put_other("holder", -30, "3", cluster.admitted());
  cluster.put_other("early", -20, "3");
  cluster.decide();
  const ExplainReply reply = cluster.ask();
  CHECK(reply.reason == "WaitingForQuota");
  CHECK(reply.headline ==
        "Job team-a/train waits for quota in ClusterQueue cq: asks for 6 of cpu, 4 are free in flavor f1.");
  REQUIRE(reply.flavors.size() == 1);
  CHECK(reply.flavors[0] == ExplainedFlavor{.pod_set = "main",
                                            .resource = "cpu",
                                            .flavor = "f1",
                                            .requested = "6",
                                            .free = "4",
                                            .nominal = "10",
                                            .most = "10",
                                            .verdict = "asks for 6, 4 are free"});
  REQUIRE(reply.others.size() == 2);
  CHECK(holders_sentence(reply.others[0]) == "ClusterQueue cq uses 6 of cpu in flavor f1 (job/holder 6).");
  CHECK(reply.others[1] == ExplainedOthers{.role = "ahead", .count = 1, .names = {{"team-a", "early"}}});
  CHECK(reply.facts[0] == ExplainedFact{"Workload", "job-train"});
}

TEST_CASE("explain: a follower that has read what the leader wrote says the same") {
  const auto fill = [](ExplainCluster& cluster, const json& status) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, ExplainCluster::workload({{"status", status}}));
    cluster.put_other("holder", -30, "3", cluster.admitted());
    cluster.put_other("early", -20, "3");
  };
  ExplainCluster leader;
  fill(leader, json::object());
  leader.decide();
  ExplainCluster follower;
  fill(follower, {{"conditions", {follower.condition("QuotaReserved", false, "WaitingForQuota", "m")}}});
  follower.follow();
  const ExplainReply reply = follower.ask(kJobs, "train", false);
  CHECK(reply.reason == "WaitingForQuota");
  CHECK(reply.headline == leader.ask().headline);
  CHECK(reply.flavors == leader.ask().flavors);
  CHECK(reply.others == leader.ask().others);
}

TEST_CASE("explain: a follower without any word of the leader finds by the numbers what can never start") {
  ExplainCluster cluster;
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload(of_pods("6")));
  cluster.follow();
  CHECK(cluster.ask(kJobs, "train", false).reason == "ExceedsMaxQuota");
  cluster.put(kWorkloads, ExplainCluster::workload());
  cluster.follow();
  const ExplainReply reply = cluster.ask(kJobs, "train", false);
  CHECK(reply.reason == "PendingEvaluation");
  CHECK(reply.notes.size() == 1);
}

TEST_CASE("explain: what the scheduler refuses is told with what would change it") {
  for (const ExplainRow& row : refused_scenes()) check_row(row);
}

TEST_CASE("explain: what a pending Workload waits for") {
  for (const ExplainRow& row : waiting_scenes()) check_row(row);
}

TEST_CASE("explain: a decision that is not written yet is told as one") {
  ExplainCluster cluster;
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload());
  cluster.decide();
  CHECK(cluster.ask().reason == "BeingAdmitted");
  cluster.pass(std::chrono::milliseconds(4999));
  CHECK(cluster.ask().reason == "BeingAdmitted");
  cluster.pass(std::chrono::milliseconds(7001));
  const ExplainReply late = cluster.ask();
  CHECK(late.reason == "AdmissionNotWritten");
  CHECK(late.headline ==
        "Job team-a/train got its turn in ClusterQueue cq 12s ago, and the API server has not accepted its admission "
        "yet.");
}

TEST_CASE("explain: a preemptor names whom it waits for") {
  ExplainCluster cluster;
  cluster.put(kClusterQueues,
              ExplainCluster::cluster_queue({{"preemption", {{"withinClusterQueue", "LowerPriority"}}}}));
  json patch = of_pods("3");
  patch["spec"]["priority"] = 10;
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload(patch));
  cluster.put_other("low", -30, "4", cluster.admitted());
  cluster.decide();
  CHECK(cluster.ask().reason == "WaitingForPreemptedWorkloads");
  const ExplainReply decided = cluster.ask(kWorkloads, "low");
  CHECK(decided.reason == "Preempted");
  const ExplainedOthers preemptor{.role = "preemptor", .count = 1, .names = {{"team-a", "job-train"}}};
  REQUIRE(decided.others.size() == 1);
  CHECK(decided.others[0] == preemptor);

  const std::string message = "Preempted to accommodate a workload (UID: job-train-uid, JobUID: x)";
  cluster.put_other("low", -30, "4",
                    cluster.admitted({cluster.condition("Evicted", true, "Preempted", message),
                                      cluster.condition("Preempted", true, "InClusterQueue", message)}));
  cluster.decide();
  const ExplainReply reply = cluster.ask();
  CHECK(reply.headline == "Job team-a/train waits for 1 preempted Workload(s) to stop.");
  REQUIRE_FALSE(reply.others.empty());
  CHECK(reply.others[0] == ExplainedOthers{.role = "victim", .count = 1, .names = {{"team-a", "low"}}});
  const ExplainReply low = cluster.ask(kWorkloads, "low");
  CHECK(low.reason == "Stopping");
  REQUIRE(low.others.size() == 1);
  CHECK(low.others[0] == preemptor);
  // By its name, in what can be hidden, and nowhere by its uid.
  CHECK(to_json(low).dump().find("job-train-uid") == std::string::npos);
  const auto preempted = std::find_if(low.timeline.begin(), low.timeline.end(),
                                      [](const ExplainedMoment& moment) { return moment.by.has_value(); });
  REQUIRE(preempted != low.timeline.end());
  CHECK(preempted->what == "Preempted for another Workload (InClusterQueue)");
  CHECK(preempted->by->name == "job-train");
}

TEST_CASE("explain: what was preempted earlier and is evicted for another reason now is no victim") {
  ExplainCluster cluster;
  cluster.put(kClusterQueues,
              ExplainCluster::cluster_queue({{"preemption", {{"withinClusterQueue", "LowerPriority"}}}}));
  json patch = of_pods("3");
  patch["spec"]["priority"] = 10;
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload(patch));
  const std::string before = "Previously: Preempted to accommodate a workload (UID: job-train-uid, JobUID: x)";
  cluster.put_other("low", -30, "4",
                    cluster.admitted({cluster.condition("Evicted", true, "PodsReadyTimeout", "too late"),
                                      cluster.condition("Preempted", false, "QuotaReserved", before)}));
  cluster.decide();
  const ExplainReply reply = cluster.ask();
  CHECK(reply.reason == "WaitingForPreemptedWorkloads");
  CHECK(reply.headline == "Job team-a/train waits for preempted Workloads to stop.");
}

TEST_CASE("explain: a preemptor whose victims are protected is told until when") {
  const auto fill = [](ExplainCluster& cluster, const json& status) {
    json queue = ExplainCluster::cluster_queue({{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    queue["metadata"]["annotations"] = {{kPreemptionProtectionAnnotation, "1h"}};
    cluster.put(kClusterQueues, queue);
    json patch = of_pods("3");
    patch["spec"]["priority"] = 10;
    patch["status"] = status;
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, ExplainCluster::workload(patch));
    cluster.put_other("low", -30, "4", cluster.admitted());
  };
  ExplainCluster leader;
  fill(leader, json::object());
  leader.decide();
  const ExplainReply reply = leader.ask();
  CHECK(reply.reason == "WaitingForProtectedWorkloads");
  CHECK(reply.headline ==
        "Job team-a/train waits because the Workloads that it could preempt in ClusterQueue cq or its cohort have "
        "started recently and are protected.");
  REQUIRE(reply.because.size() == 1);
  CHECK(reply.because[0].find("are protected, the first of them until 2026-01-01T") != std::string::npos);
  REQUIRE(reply.change.size() == 2);
  CHECK(reply.change[0].starts_with("Is evaluated again at 2026-01-01T"));

  ExplainCluster follower;
  fill(follower,
       {{"conditions", {follower.condition("QuotaReserved", false, "WaitingForProtectedWorkloads", "until 9")}}});
  follower.follow();
  const ExplainReply same = follower.ask(kJobs, "train", false);
  CHECK(same.headline == reply.headline);
  CHECK(same.because == std::vector<std::string>{"until 9"});
}

TEST_CASE("explain: with blockAdmission the Workloads that are not ready are named and their message is not") {
  ReconcilerSettings settings = with_pods_ready();
  settings.queues.wait_for_pods_ready->block_admission = true;
  ExplainCluster cluster(settings);
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload({{"status",
                                                     {{"conditions",
                                                       {cluster.condition("QuotaReserved", false, "WaitingForPodsReady",
                                                                          "waits for Workload secret")}}}}}));
  cluster.put_other("slow", -30, "1", cluster.admitted());
  cluster.follow();
  const ExplainReply reply = cluster.ask();
  CHECK(reply.reason == "WaitingForPodsReady");
  REQUIRE_FALSE(reply.others.empty());
  CHECK(reply.others[0] == ExplainedOthers{.role = "blocker", .count = 1, .names = {{"team-a", "slow"}}});
  CHECK(to_json(reply).dump().find("secret") == std::string::npos);
}

}  // namespace
}  // namespace muster::test::explain_waiting_test
