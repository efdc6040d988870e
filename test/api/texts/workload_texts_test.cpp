#include "api/texts/workload_texts.h"

#include <doctest/doctest.h>

#include "api/workload_conditions.h"

namespace workload_texts_test {

using namespace muster;

TEST_CASE("workload texts: who a Workload was preempted for is read from what was written") {
  const PreemptionText text{.preemptor_uid = "3f0a-11",
                            .job_uid = "",
                            .why = "prioritization in the ClusterQueue",
                            .preemptor_path = "/root/a",
                            .victim_path = "/root/b"};
  const std::string message = preemption_message(text);
  CHECK(message ==
        "Preempted to accommodate a workload (UID: 3f0a-11, JobUID: UNKNOWN) due to prioritization in the "
        "ClusterQueue; preemptor path: /root/a; preemptee path: /root/b");
  CHECK(preemptor_uid_of(message) == "3f0a-11");

  PreemptionText of_job = text;
  of_job.job_uid = "7c-2";
  CHECK(preemptor_uid_of(preemption_message(of_job)) == "3f0a-11");
}

TEST_CASE("workload texts: a message that is over or is another one names no preemptor") {
  const std::string message = preemption_message({.preemptor_uid = "u", .job_uid = "j"});
  CHECK(preemptor_uid_of("Previously: " + message) == "");
  CHECK(preemptor_uid_of("The ClusterQueue is stopped") == "");
  CHECK(preemptor_uid_of("Preempted to accommodate a workload (UID: cut off") == "");
  CHECK(preemptor_uid_of("") == "");
}

TEST_CASE("workload texts: the cause of a deactivation is read from its reason") {
  for (const std::string_view cause : {kRequeuingLimitExceededReason, kMaximumExecutionTimeExceededReason,
                                       kFlavorsExhaustedReason, kAdmissionCheckReason}) {
    const std::string reason = deactivated_reason(cause);
    CHECK(deactivation_cause(reason) == cause);
    CHECK(says_deactivated(reason));
  }
  CHECK(deactivated_reason(kRequeuingLimitExceededReason) == "DeactivatedDueToRequeuingLimitExceeded");
  CHECK(deactivated_reason("") == kDeactivatedReason);
  CHECK(says_deactivated(kDeactivatedReason));
  CHECK_FALSE(deactivation_cause(kDeactivatedReason));
  for (const std::string_view other : {"", "DueToAdmissionCheck", "Preempted", "Deactivation"}) {
    CHECK_FALSE(deactivation_cause(other));
    CHECK_FALSE(says_deactivated(other));
  }
}

TEST_CASE("workload texts: what queues say of a Workload is told from what the scheduler says") {
  for (const QueueKind kind : {QueueKind::kLocalQueue, QueueKind::kClusterQueue}) {
    for (const QueueTrouble trouble :
         {QueueTrouble::kMissing, QueueTrouble::kInactive, QueueTrouble::kStopped, QueueTrouble::kTerminating})
      CHECK(is_queue_message(queue_message(kind, "main", trouble)));
  }
  CHECK(queue_message(QueueKind::kLocalQueue, "main", QueueTrouble::kMissing) == "LocalQueue main doesn't exist");
  CHECK(queue_message(QueueKind::kClusterQueue, "cq", QueueTrouble::kTerminating) ==
        "ClusterQueue cq is terminating or missing");
  for (const std::string_view other :
       {"workload namespace doesn't match ClusterQueue selector", "resources validation failed: spec is inactive",
        "Workload is pending evaluation in the scheduling queue", "LocalQueues is inactive", "ClusterQueue cq", ""})
    CHECK_FALSE(is_queue_message(other));
}

}  // namespace workload_texts_test
