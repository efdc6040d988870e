#include "explain/history/workload_history.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/constants.h"
#include "api/texts/workload_texts.h"
#include "api/workload.h"

namespace workload_history_test {

using namespace muster;
using namespace muster::explain;
using nlohmann::json;

namespace {

constexpr int64_t kStart = 1'767'268'800;  // 2026-01-01T12:00:00Z

Timestamp at(int64_t second) {
  return {kStart + second, 0};
}

json condition(const std::string& type, bool is_true, const std::string& reason, int64_t second,
               const std::string& message = "") {
  return {{"type", type},
          {"status", is_true ? "True" : "False"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", format_rfc3339(at(second))}};
}

struct Told {
  std::string ns = "team-a", name = "w", owner = "train";
  json status = json::object();
  json spec = {{"queueName", "lq"}};

  WorkloadPtr object() const {
    return read_workload(
        {{"metadata",
          {{"namespace", ns},
           {"name", name},
           {"uid", ns + "-" + name + "-uid"},
           {"creationTimestamp", format_rfc3339(at(0))},
           {"ownerReferences",
            {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", owner}, {"uid", "u"}, {"controller", true}}}}}},
         {"spec", spec},
         {"status", status}});
  }
};

std::vector<std::string> lines(const WorkloadHistory& history, const ObjectKey& key) {
  std::vector<std::string> texts;
  for (const ExplainedMoment& moment : history.of(key)) {
    std::string text = std::to_string(moment.time.seconds - kStart) + " " + moment.what;
    if (moment.by) text += ": " + moment.by->ns + "/" + moment.by->name;
    if (moment.from_conditions) text += " *";
    texts.push_back(text);
  }
  return texts;
}

const ObjectKey kWorkloadKey{&kWorkloads, "team-a", "w"};
const ObjectKey kJobKey{&kJobs, "team-a", "train"};

json admission() {
  return {
      {"clusterQueue", "cq"},
      {"podSetAssignments", {{{"name", "main"}, {"flavors", {{"cpu", "spot"}}}, {"resourceUsage", {{"cpu", "1"}}}}}}};
}

// This many changes of state, one each second.
void flap(WorkloadHistory& history, const Told& whose, int changes, const std::string& message) {
  for (int i = 0; i < changes; ++i) {
    Told next = whose;
    next.status["conditions"] = {condition("QuotaReserved", false, i % 2 == 0 ? "WaitingForQuota" : "NoMatchingFlavor",
                                           1, std::to_string(i) + message)};
    history.put(*next.object(), at(i + 1));
  }
}

}  // namespace

TEST_CASE("history: no moment promises an attempt that a deactivated Workload does not get") {
  for (const char* cause : {"Deactivated", "DeactivatedDueToRequeuingLimitExceeded"}) {
    WorkloadHistory history;
    Told told;
    history.put(*told.object(), at(0));
    told.status = {
        {"admission", admission()},
        {"conditions",
         {condition("QuotaReserved", true, "QuotaReserved", 1), condition("Admitted", true, "Admitted", 1)}}};
    history.put(*told.object(), at(1));
    told.spec["active"] = false;
    told.status["conditions"].push_back(condition("Evicted", true, cause, 9, "why"));
    history.put(*told.object(), at(9));
    told.status = {{"conditions",
                    {condition("QuotaReserved", false, "PendingEvaluation", 10, "The workload is deactivated"),
                     condition("Evicted", true, cause, 9, "why"), condition("Requeued", false, cause, 10, "why")}}};
    history.put(*told.object(), at(10));
    CHECK(lines(history, kWorkloadKey) ==
          std::vector<std::string>{"0 Workload created: w", "1 Quota reserved in ClusterQueue cq", "1 Admitted on spot",
                                   std::string("9 Evicted (") + cause + "): why", "9 Deactivated"});
    // What a user activates again waits again.
    told.spec["active"] = true;
    told.status["conditions"] = {condition("QuotaReserved", false, "WaitingForQuota", 20, "full"),
                                 condition("Requeued", true, "Reactivated", 20)};
    history.put(*told.object(), at(20));
    const std::vector<std::string> after = lines(history, kWorkloadKey);
    CHECK(std::count(after.begin(), after.end(), "20 Waits (WaitingForQuota): full") == 1);
  }
}

TEST_CASE("history: the life of a Workload, moment by moment") {
  WorkloadHistory history;
  Told told;
  history.put(*told.object(), at(0));
  told.status["conditions"] = {condition("QuotaReserved", false, "WaitingForQuota", 1, "2 cpu are missing")};
  history.put(*told.object(), at(1));
  // Another message for the same reason is no separate moment.
  told.status["conditions"] = {condition("QuotaReserved", false, "WaitingForQuota", 1, "1 cpu is missing")};
  history.put(*told.object(), at(5));
  // The condition's time stays when only its reason changes.
  told.status["conditions"] = {condition("QuotaReserved", false, "NoMatchingFlavor", 1, "taint")};
  history.put(*told.object(), at(9));
  told.status = {
      {"admission", admission()},
      {"conditions",
       {condition("QuotaReserved", true, "QuotaReserved", 10), condition("Admitted", true, "Admitted", 10)}}};
  history.put(*told.object(), at(10));
  history.put(*told.object(), at(11));
  told.status["conditions"].push_back(condition("PodsReady", true, "Started", 20));
  history.put(*told.object(), at(20));
  told.status = {
      {"schedulingStats", {{"evictions", {{{"reason", "PodsReadyTimeout"}, {"count", 1}}}}}},
      {"requeueState", {{"count", 1}, {"requeueAt", format_rfc3339(at(90))}}},
      {"conditions",
       {condition("QuotaReserved", false, "Pending", 30, "late"), condition("PodsReady", false, "WaitForStart", 30),
        condition("Evicted", true, "PodsReadyTimeout", 30, "late"),
        condition("Requeued", false, "PodsReadyTimeout", 30)}}};
  history.put(*told.object(), at(30));
  told.status["conditions"] = {
      condition("QuotaReserved", true, "QuotaReserved", 91), condition("Admitted", true, "Admitted", 91),
      condition("Requeued", true, "BackoffFinished", 90), condition("Evicted", false, "QuotaReserved", 91)};
  told.status["admission"] = admission();
  history.put(*told.object(), at(91));
  told.status["conditions"].push_back(condition("Finished", true, "Succeeded", 100, "Job finished successfully"));
  history.put(*told.object(), at(100));
  history.remove(*told.object(), at(110));
  const std::vector<std::string> expected = {
      "0 Workload created: w",
      "1 Waits (WaitingForQuota): 1 cpu is missing",
      "9 Waits (NoMatchingFlavor): taint",
      "10 Quota reserved in ClusterQueue cq",
      "10 Admitted on spot",
      "20 Pods are ready (Started)",
      "30 Evicted (PodsReadyTimeout): late",
      "30 Waits before the next attempt (PodsReadyTimeout) until 2026-01-01T12:01:30Z",
      "30 Waits (Pending): late",
      "90 Requeued (BackoffFinished)",
      "91 Quota reserved in ClusterQueue cq (attempt 2)",
      "91 Admitted on spot (attempt 2)",
      "100 Finished (Succeeded): Job finished successfully",
      "110 Workload deleted",
  };
  CHECK(lines(history, kWorkloadKey) == expected);
  CHECK(lines(history, kJobKey) == expected);
  CHECK(history.of({&kJobSets, "team-a", "train"}).empty());
  CHECK(history.of({&kJobs, "team-b", "train"}).empty());
}

TEST_CASE("history: after a restart the conditions tell what they can, and it is said") {
  WorkloadHistory history;
  Told told;
  told.status = {
      {"admission", admission()},
      {"conditions",
       {condition("QuotaReserved", true, "QuotaReserved", 10), condition("Admitted", true, "Admitted", 12)}}};
  history.relist({told.object()}, at(50));
  told.status["conditions"].push_back(condition("Finished", true, "Succeeded", 60));
  history.put(*told.object(), at(60));
  CHECK(lines(history, kWorkloadKey) == std::vector<std::string>{"0 Workload created: w",
                                                                 "10 Quota reserved in ClusterQueue cq *",
                                                                 "12 Admitted on spot *", "60 Finished (Succeeded)"});
}

TEST_CASE("history: a list without a Workload says that it is gone, and the same list twice says nothing new") {
  WorkloadHistory history;
  Told other;
  other.name = "other";
  history.relist({Told().object(), other.object()}, at(1));
  history.relist({Told().object(), other.object()}, at(2));
  CHECK(lines(history, kWorkloadKey).size() == 1);
  history.relist({other.object()}, at(3));
  CHECK(lines(history, kWorkloadKey).back() == "3 Workload deleted");
  CHECK(lines(history, {&kWorkloads, "team-a", "other"}).size() == 1);
}

TEST_CASE("history: a preemptor has a name, also after it is gone, and no uid is shown") {
  const std::string message = preemption_message({.preemptor_uid = "team-b-big-uid", .why = "reclamation"});
  WorkloadHistory history;
  Told big;
  big.name = "big";
  big.ns = "team-b";
  history.put(*big.object(), at(0));
  Told told;
  history.put(*told.object(), at(0));
  told.status["conditions"] = {condition("Evicted", true, "Preempted", 5, message),
                               condition("Preempted", true, "InCohortReclamation", 5, message),
                               condition("QuotaReserved", false, "Pending", 5, message)};
  history.put(*told.object(), at(5));
  const std::vector<std::string> expected = {"0 Workload created: w",
                                             "5 Preempted for another Workload (InCohortReclamation): team-b/big",
                                             "5 Waits (Pending)"};
  CHECK(lines(history, kWorkloadKey) == expected);
  history.remove(*big.object(), at(6));
  for (int hour = 1; hour < 30; ++hour) {
    Told tick;
    tick.name = "tick";
    history.put(*tick.object(), at(3600 * hour));
  }
  CHECK(history.of({&kWorkloads, "team-b", "big"}).empty());
  CHECK(lines(history, kWorkloadKey) == expected);
}

TEST_CASE("history: a preemptor that is listed after its victim is found when somebody asks") {
  const std::string message = preemption_message({.preemptor_uid = "team-a-z-uid", .why = "reclamation"});
  WorkloadHistory history;
  Told victim, preemptor;
  preemptor.name = "z";
  victim.status["conditions"] = {condition("Preempted", true, "InClusterQueue", 5, message)};
  history.relist({victim.object(), preemptor.object()}, at(9));
  CHECK(lines(history, kWorkloadKey).back() == "5 Preempted for another Workload (InClusterQueue): team-a/z *");
}

TEST_CASE("history: one that changes every second, with messages of any length, keeps to its share") {
  WorkloadHistory history;
  Told quiet;
  quiet.ns = "team-b";
  history.put(*quiet.object(), at(0));
  const size_t before = history.bytes();
  flap(history, Told(), 10'000, std::string(30'000, 'x'));
  const auto moments = history.of(kWorkloadKey);
  // The first one, the gap, and the last ones.
  CHECK(moments.size() == WorkloadHistory::Limits().moments + 1);
  CHECK(moments.front().what == "Workload created: w");
  CHECK(moments[1].what == "Earlier moments are not kept: 9969");
  for (const ExplainedMoment& moment : moments) CHECK(moment.what.size() < Moment::kMostText + 64);
  CHECK(moments.back().what.ends_with("..."));
  CHECK(history.bytes() - before < 16'384);
  CHECK(history.of({&kWorkloads, "team-b", "w"}).size() == 1);
}

TEST_CASE("history: a tenant whose Workloads end by the thousand pushes out none of another's") {
  WorkloadHistory history({.bytes = 256 * 1024});
  Told quiet;
  quiet.ns = "team-b";
  quiet.status["conditions"] = {condition("Finished", true, "Succeeded", 1)};
  history.put(*quiet.object(), at(1));
  for (int i = 0; i < 20'000; ++i) {
    Told noisy;
    noisy.name = "n" + std::to_string(i);
    noisy.status["conditions"] = {condition("Finished", true, "Failed", 2, std::string(1000, 'x'))};
    history.put(*noisy.object(), at(2));
    REQUIRE(history.bytes() <= 256 * 1024);
  }
  CHECK(history.of({&kWorkloads, "team-b", "w"}).size() == 2);
  CHECK(history.of({&kWorkloads, "team-a", "n0"}).empty());
  CHECK(history.of({&kWorkloads, "team-a", "n19999"}).size() == 2);
}

TEST_CASE("history: Workloads that exist and need more than there is lose their own moments, and others keep theirs") {
  WorkloadHistory history({.bytes = 512 * 1024});
  Told quiet;
  quiet.ns = "team-b";
  flap(history, quiet, 20, "");
  for (int i = 0; i < 2'000; ++i) {
    Told noisy;
    noisy.name = "n" + std::to_string(i);
    flap(history, noisy, 8, std::string(300, 'x'));
    REQUIRE(history.bytes() <= 512 * 1024);
  }
  CHECK(history.of({&kWorkloads, "team-b", "w"}).size() == 21);
  CHECK(history.of({&kWorkloads, "team-a", "n1999"}).size() >= 5);
  // All can be given back: what is counted is what there is.
  for (int i = 0; i < 2'000; ++i) {
    Told noisy;
    noisy.name = "n" + std::to_string(i);
    history.remove(*noisy.object(), at(100));
  }
  history.remove(*quiet.object(), at(100));
  Told last;
  last.name = "last";
  history.put(*last.object(), at(100 + 25 * 3600));
  CHECK(history.workloads() == 1);
  CHECK(history.bytes() < 1000);
}

TEST_CASE("history: what has ended is kept for a day, and one that ended before is not begun with") {
  WorkloadHistory history;
  Told told;
  told.status["conditions"] = {condition("Finished", true, "Succeeded", 10)};
  history.put(*told.object(), at(10));
  Told other;
  other.name = "other";
  history.put(*other.object(), at(10 + 24 * 3600 - 1));
  CHECK_FALSE(history.of(kWorkloadKey).empty());
  history.put(*other.object(), at(10 + 24 * 3600));
  CHECK(history.of(kWorkloadKey).empty());
  history.put(*told.object(), at(20 + 24 * 3600));
  CHECK(history.of(kWorkloadKey).empty());
}

TEST_CASE("history: a job has the moments of its last Workloads") {
  WorkloadHistory history;
  for (int i = 0; i < 20; ++i) {
    Told told;
    told.name = "w" + std::to_string(i);
    history.put(*told.object(), at(i));
  }
  CHECK(history.of(kJobKey).size() == WorkloadHistory::kMostWorkloads);
}

TEST_CASE("history: of a deleted job it is said that it was deleted, and where to read on") {
  WorkloadHistory history;
  const Told told;
  history.put(*told.object(), at(0));
  ExplainReply reply;
  reply.kind = "Job";
  reply.ns = "team-a";
  reply.name = "train";
  reply.at = at(91);
  ExplainReply living = reply;
  reply.found = false;
  say_deleted(reply);
  CHECK(reply.headline.empty());
  reply.timeline = history.of(kJobKey);
  say_deleted(reply);
  CHECK(reply.headline == "Job team-a/train was deleted.");
  history.remove(*told.object(), at(90));
  reply.timeline = history.of(kJobKey);
  say_deleted(reply);
  CHECK(reply.reason == "NotFound");
  CHECK(reply.headline == "Job team-a/train was deleted 1s ago.");
  CHECK(reply.change == std::vector<std::string>{"What happened to it: muster history job/train -n team-a"});

  living.timeline = reply.timeline;
  say_deleted(living);
  CHECK(living.headline.empty());
}

TEST_CASE("history: texts are cut between characters") {
  const std::string text = std::string(Moment::kMostText - 1, 'a') + "\xc3\xa9";
  CHECK(cut_text(text) == std::string(Moment::kMostText - 1, 'a'));
  CHECK(cut_text("short") == "short");
}

}  // namespace workload_history_test
