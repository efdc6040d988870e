#include "reconcilers/workload/late_pods_note.h"

#include <doctest/doctest.h>

#include "test/reconcilers/queues/queue_cluster.h"

namespace late_pods_note_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using std::chrono::minutes;
using std::chrono::seconds;

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
    CHECK(evicts_late_pods(plan.writes[0]));
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

TEST_CASE("late pods note: it goes into the parentheses that are there, and into no other write") {
  const auto write = [](const std::string& type, const std::string& status, const std::string& reason,
                        const std::string& message) {
    return Write{
        .verb = Verb::kPatchStatus,
        .target = {&kWorkloads, "team-a", "wl"},
        .body = {{"status",
                  {{"conditions", {{{"type", type}, {"status", status}, {"reason", reason}, {"message", message}}}}}}}};
  };
  Write evicts = write("Evicted", "True", "PodsReadyTimeout", "late a/b (0 of 1 pods are ready)");
  add_pod_reason("why", evicts);
  CHECK(evicts.body["status"]["conditions"][0]["message"] == "late a/b (0 of 1 pods are ready; why)");
  for (Write other : {write("Evicted", "False", "PodsReadyTimeout", "m"), write("Evicted", "True", "Preempted", "m"),
                      write("Finished", "True", "PodsReadyTimeout", "m")}) {
    const json before = other.body;
    CHECK_FALSE(evicts_late_pods(other));
    add_pod_reason("why", other);
    CHECK(other.body == before);
  }
  Write empty = write("Evicted", "True", "PodsReadyTimeout", "m");
  add_pod_reason("", empty);
  CHECK(empty.body["status"]["conditions"][0]["message"] == "m");
}

}  // namespace late_pods_note_test
