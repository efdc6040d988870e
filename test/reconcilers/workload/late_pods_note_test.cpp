#include "reconcilers/workload/late_pods_note.h"

#include <doctest/doctest.h>

#include "test/reconcilers/workload/fallback_cluster.h"

namespace late_pods_note_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

const std::string kNote = "Pod p cannot be scheduled (Unschedulable): 0/4 nodes";

// "Evicted: message", of the condition of the Workload's next write that has the note; empty: none has it.
std::string noted(FallbackCluster& cluster) {
  cluster.decisions.follow(cluster.now());
  Plan plan = cluster.reconcile(QueueCluster::workload_key());
  REQUIRE_FALSE(plan.writes.empty());
  const bool evicts = plan.writes[0].for_late_pods;
  add_pod_reason(kNote, plan.writes[0]);
  const json once = plan.writes[0].body;
  add_pod_reason(kNote, plan.writes[0]);
  CHECK(plan.writes[0].body == once);
  std::string text;
  for (const json& each : once["status"].value("conditions", json::array())) {
    const std::string message = each.value("message", "");
    if (message.find(kNote) != std::string::npos) text = each.value("type", "") + ": " + message;
  }
  CHECK(evicts == !text.empty());
  return text;
}

TEST_CASE(
    "late pods note: the eviction of a Workload whose pods are late has their reason, once, and nothing else has") {
  QueueCluster cluster;
  cluster.put_queues();
  WaitForPodsReady wait;
  wait.requeuing.backoff_limit_count = 1;
  wait.requeuing.backoff_jitter = 0;
  cluster.settings.queues.wait_for_pods_ready = wait;
  const std::string note = "Pod p cannot be scheduled (Unschedulable): 0/4 nodes";
  const auto message = [&](int tries) {
    json status = cluster.admitted_status(seconds(0));
    if (tries > 0) status["requeueState"] = {{"count", tries}};
    cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), status));
    cluster.pass(minutes(6));
    Plan plan = cluster.reconcile(QueueCluster::workload_key());
    REQUIRE(plan.writes.size() == 1);
    CHECK(plan.writes[0].for_late_pods);
    add_pod_reason(note, plan.writes[0]);
    const json once = plan.writes[0].body;
    add_pod_reason(note, plan.writes[0]);
    CHECK(plan.writes[0].body == once);
    for (const json& each : once["status"]["conditions"]) {
      const std::string text = each.value("message", "");
      if (text.find(note) != std::string::npos) return each.value("type", "") + ": " + text;
    }
    return std::string();
  };
  CHECK(message(0) == "Evicted: Exceeded the PodsReady timeout team-a/wl (" + note + ")");
  CHECK(message(1) == "DeactivationTarget: exceeding the maximum number of re-queuing retries (" + note + ")");
}

TEST_CASE(
    "late pods note: an eviction by the timeout of a flavor has the reason, and one by a rejected check has none") {
  FallbackCluster late(timeouts(15));
  late.admit({{"cpu", "spot"}});
  late.pass(minutes(15));
  CHECK(noted(late) == "Evicted: Falls back from flavor spot: not all pods were ready within 15m0s (" + kNote + ")");

  const json all = json{{{"name", "*"}, {"timeout", "90s"}}};
  for (const char* policy : {"RetryAllFlavors", "DeactivateWorkload"}) {
    FallbackCluster last(all, policy);
    for (const char* name : {"reservation", "spot", "on-demand"}) {
      last.admit({{"cpu", name}});
      last.pass(seconds(90));
      if (std::string(name) == "on-demand") break;
      last.done();
      last.release();
      last.done();
    }
    const std::string text = noted(last);
    const std::string failed =
        "reservation (TimeoutForPodsReadyExceeded), spot (TimeoutForPodsReadyExceeded), on-demand "
        "(TimeoutForPodsReadyExceeded)";
    INFO(text);
    if (std::string(policy) == "DeactivateWorkload") {
      CHECK(text == "DeactivationTarget: the failure of all flavors: " + failed + "; " + kNote);
    } else {
      CHECK(text.starts_with("Evicted: Round 1 has ended with the failure of all flavors: " + failed + "; round 2"));
      CHECK(text.ends_with(" (" + kNote + ")"));
    }
  }

  for (const char* policy : {"RetryAllFlavors", "DeactivateWorkload"}) {
    FallbackCluster checked(json{{{"name", "*"}, {"trigger", "AdmissionCheckRejected"}}}, policy);
    checked.patch(kClusterQueues, "cq",
                  {{"spec", {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "machines"}}}}}}}}});
    for (const char* name : {"reservation", "spot", "on-demand"}) {
      checked.admit({{"cpu", name}});
      checked.patch(kWorkloads, "wl",
                    {{"status",
                      {{"admissionChecks",
                        {{{"name", "machines"},
                          {"state", "Rejected"},
                          {"message", "sold out"},
                          {"lastTransitionTime", checked.stamp(seconds(0))}}}}}}});
      CHECK(noted(checked).empty());
      checked.done();
      checked.release();
      checked.done();
    }
  }
}

TEST_CASE("late pods note: it goes into the parentheses that are there, and into no other write") {
  const auto write = [](const std::string& type, const std::string& status, const std::string& reason,
                        const std::string& message, bool for_late_pods = true) {
    return Write{
        .verb = Verb::kPatchStatus,
        .target = {&kWorkloads, "team-a", "wl"},
        .body = {{"status",
                  {{"conditions", {{{"type", type}, {"status", status}, {"reason", reason}, {"message", message}}}}}}},
        .for_late_pods = for_late_pods};
  };
  Write evicts = write("Evicted", "True", "PodsReadyTimeout", "late a/b (0 of 1 pods are ready)");
  add_pod_reason("why", evicts);
  CHECK(evicts.body["status"]["conditions"][0]["message"] == "late a/b (0 of 1 pods are ready; why)");
  // Later writes have the condition, too, and evict for nothing.
  for (Write other :
       {write("Evicted", "False", "PodsReadyTimeout", "m"), write("Evicted", "True", "Preempted", "m"),
        write("Finished", "True", "PodsReadyTimeout", "m"), write("Evicted", "True", "FlavorFallback", "m", false),
        write("DeactivationTarget", "True", "FlavorsExhausted", "m", false)}) {
    const json before = other.body;
    add_pod_reason("why", other);
    CHECK(other.body == before);
  }
  Write empty = write("Evicted", "True", "PodsReadyTimeout", "m");
  add_pod_reason("", empty);
  CHECK(empty.body["status"]["conditions"][0]["message"] == "m");
}

}  // namespace late_pods_note_test
