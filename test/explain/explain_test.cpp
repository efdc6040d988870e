#include "explain/explain.h"

#include "test/explain/reason_scenes.h"

namespace muster::test::explain_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("explain: a job that is no business of the queues says why and who would start it") {
  for (const ExplainRow& row : unqueued_scenes()) check_row(row);
}

TEST_CASE("explain: a queued job without a Workload says what it waits for") {
  for (const ExplainRow& row : scenes_without_workload()) check_row(row);
}

TEST_CASE("explain: a Workload that its queues keep out says which one and who mends it") {
  for (const ExplainRow& row : scenes_kept_out()) check_row(row);
}

TEST_CASE("explain: from reservation to the end a Workload says what it waits for") {
  for (const ExplainRow& row : scenes_with_quota()) check_row(row);
}

TEST_CASE("explain: the end of a Workload, pods, and kinds that muster does not queue") {
  for (const Scenes& scenes : {ended_scenes(), scenes_of_pods(), scenes_of_kinds()}) {
    for (const ExplainRow& row : scenes) check_row(row);
  }
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
  settings.queues.rules.jobset_mode = JobSetMode::kNative;
  ExplainCluster cluster(settings);
  cluster.put(kJobSets, {{"metadata", {{"name", "sets"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                         {"spec", {{"failurePolicy", {{"restartStrategy", "RestartSlowly"}}}}}});
  ExplainReply reply = cluster.ask(kJobSets, "sets");
  CHECK(reply.reason == "Unsupported");
  CHECK(reply.headline == "JobSet team-a/sets asks for what muster does not do.");
  REQUIRE(reply.because.size() == 1);
  CHECK(reply.because[0].starts_with("spec.failurePolicy.restartStrategy: RestartSlowly is not supported"));

  cluster.put(kJobs, ExplainCluster::job());
  cluster.state.writes().note_rejection({&kJobs, "team-a", "train"}, {&kWorkloads, "team-a", "job-train"},
                                        "exceeded quota: small");
  reply = cluster.ask();
  CHECK(reply.reason == "CreationRefused");
  CHECK(reply.headline == "Job team-a/train needs Workload job-train, which cannot be created: exceeded quota: small.");
  cluster.put(kWorkloads, ExplainCluster::workload());
  CHECK(cluster.ask().reason != "CreationRefused");
}

}  // namespace
}  // namespace muster::test::explain_test
