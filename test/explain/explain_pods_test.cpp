#include "explain/explain.h"

#include "jobs/job_kind.h"
#include "test/explain/explain_rows.h"

namespace muster::test::explain_pods_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("explain: a gang outside of queues says how many have started and until when it waits") {
  ExplainCluster cluster;
  json waiter = {{"name", kGroupInitContainer},
                 {"image", "m"},
                 {"command", {"/muster-wait", "30"}},
                 {"args", json::array({"--timeout-seconds=30"})},
                 {"volumeMounts", {{{"name", kGroupVolume}, {"mountPath", kGroupMountPath}}}}};
  json job = ExplainCluster::job({{"metadata", {{"labels", nullptr}}}, {"spec", {{"suspend", false}}}});
  job["spec"]["template"]["spec"]["initContainers"] = {waiter};
  job["spec"]["template"]["spec"]["volumes"] = {
      {{"name", kGroupVolume}, {"configMap", {{"name", "train.job-group-scheduling"}, {"optional", true}}}}};
  job["spec"]["template"]["metadata"] = {{"labels", {{kGroupLabel, "true"}}},
                                         {"annotations", {{kGroupEpochAnnotation, "e"}}}};
  job["status"] = {{"active", 1}};
  cluster.put(kJobs, job);
  const ExplainReply reply = cluster.ask();
  INFO(to_json(reply).dump());
  CHECK(reply.reason == "StartBarrier");
  CHECK(reply.headline == "Job team-a/train waits at its start barrier: 0 of 2 pods have started.");

  // A kubelet's clock is ahead by an hour: the start counts as now, as it does for the end itself.
  json pod = {{"metadata",
               {{"name", "train-0-x"},
                {"labels", {{kGroupLabel, "true"}, {kControllerUidLabel, "job-uid"}}},
                {"annotations", {{kGroupEpochAnnotation, "e"}, {kCompletionIndexAnnotation, "0"}}},
                {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                                  {"kind", "Job"},
                                                  {"name", "train"},
                                                  {"uid", "job-uid"},
                                                  {"controller", true}}})}}},
              {"spec", job["spec"]["template"]["spec"]},
              {"status",
               {{"phase", "Pending"},
                {"initContainerStatuses",
                 json::array({{{"name", kGroupInitContainer},
                               {"state", {{"running", {{"startedAt", "2026-01-01T13:00:00Z"}}}}}}})}}}};
  cluster.put(kPods, pod);
  const ExplainReply started = cluster.ask();
  CHECK(started.headline == "Job team-a/train waits at its start barrier: 1 of 2 pods have started.");
  const auto fact =
      std::find_if(started.facts.begin(), started.facts.end(), [](const auto& each) { return each.name == "Barrier"; });
  REQUIRE(fact != started.facts.end());
  CHECK_MESSAGE(fact->value.find("2026-01-01T12:00:30Z") != std::string::npos, fact->value);
}

TEST_CASE("explain: a JobSet without Jobs does not run, and one that waits for a dependency says so") {
  ExplainCluster cluster;
  const auto replicated = [](const char* name) {
    return json{{"name", name},
                {"replicas", 1},
                {"template", {{"spec", {{"parallelism", 1}, {"template", ExplainCluster::pod_template("1")}}}}}};
  };
  json workers = replicated("workers");
  workers["dependsOn"] = json::array({{{"name", "prep"}, {"status", "Complete"}}});
  cluster.put(kJobSets, {{"metadata", {{"name", "sets"}, {"uid", "sets-uid"}}},
                         {"spec", {{"replicatedJobs", json::array({replicated("prep"), workers})}}}});
  ExplainReply reply = cluster.ask(kJobSets, "sets");
  CHECK(reply.reason == "JobsMissing");
  CHECK(reply.headline == "JobSet team-a/sets does not run: it has no Jobs.");

  cluster.put(kJobs, {{"metadata",
                       {{"name", "sets-prep-0"},
                        {"labels", {{kJobSetNameKey, "sets"}, {kReplicatedJobNameKey, "prep"}}},
                        {"ownerReferences", controlled_by(kJobSets, "sets", "sets-uid")}}},
                      {"spec", {{"parallelism", 1}}}});
  reply = cluster.ask(kJobSets, "sets");
  CHECK(reply.reason != "JobsMissing");
  CHECK(std::find(reply.because.begin(), reply.because.end(), "Replicated job workers waits until prep is complete.") !=
        reply.because.end());
}

}  // namespace
}  // namespace muster::test::explain_pods_test
