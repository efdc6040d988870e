// Why a job waits, in an Event of the job itself.
#include <doctest/doctest.h>

#include "scheduler/outcome.h"
#include "test/reconcilers/queues/queue_cluster.h"

namespace waiting_event_test {

using namespace muster;
using namespace muster::test;

namespace {

json workload_of_job(const json& spec = json::object()) {
  json object = QueueCluster::workload(spec);
  object["metadata"]["ownerReferences"] = controlled_by(kJobs, "train", "job-uid");
  return object;
}

// "Job train: the note" of each such Event.
Texts told(const QueueCluster& cluster) {
  Texts texts;
  for (const ObjectEvent& event : cluster.events) {
    if (event.reason != "Pending") continue;
    CHECK(event.type == kNormalEvent);
    CHECK(event.regarding.uid == "job-uid");
    CHECK(event.regarding.api_version == "batch/v1");
    texts.push_back(event.regarding.kind + " " + event.regarding.name + ": " + event.note);
  }
  return texts;
}

}  // namespace

TEST_CASE("waiting event: a job says why it waits, once for each change of the reason") {
  QueueCluster cluster;
  cluster.put(kWorkloads, "wl", workload_of_job());
  cluster.settle();
  REQUIRE(told(cluster).size() == 1);
  CHECK_MESSAGE(told(cluster)[0].starts_with("Job train: Waits ("), told(cluster)[0]);
  CHECK_MESSAGE(told(cluster)[0].find("LocalQueue lq") != std::string::npos, told(cluster)[0]);
  cluster.settle();
  CHECK(told(cluster).size() == 1);
  // Another reason is news.
  cluster.put_queues({{"stopPolicy", "Hold"}});
  cluster.settle();
  CHECK(told(cluster).size() == 2);
  cluster.settle();
  CHECK(told(cluster).size() == 2);
}

TEST_CASE("waiting event: a Workload without a job, and one that is inactive, say nothing") {
  QueueCluster cluster;
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  cluster.settle();
  CHECK(told(cluster).empty());
  QueueCluster inactive;
  inactive.put(kWorkloads, "wl", workload_of_job({{"active", false}}));
  inactive.settle();
  CHECK(told(inactive).empty());
}

// A reason without a row is no Event of the Workload (reconcilers/workload/admission.cpp).
TEST_CASE("waiting event: each reason of the scheduler has a row in the table of Events") {
  size_t reasons = 0;
  for (int value = 0;; ++value, ++reasons) {
    const std::string_view reason = scheduler::to_text(static_cast<scheduler::PendingReason>(value));
    if (reason.empty()) break;
    INFO(std::string(reason));
    CHECK(find_event_reason(kWarningEvent, reason));
  }
  CHECK(reasons == static_cast<size_t>(scheduler::PendingReason::kPendingEvaluation) + 1);
}

}  // namespace waiting_event_test
