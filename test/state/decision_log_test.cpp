#include "state/decision_log.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace decision_log_test {

using namespace muster;
using namespace muster::state;
using nlohmann::json;

namespace {

WorkloadPtr workload(const char* status) {
  json object = json::parse(R"({"metadata": {"name": "job-a-1", "namespace": "team-a", "ownerReferences": [
      {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "u", "controller": true}]},
      "spec": {"queueName": "main", "podSets": []}})");
  object["status"] = json::parse(status);
  return read_workload(object);
}

const char* const kPending = "{}";
const char* const kReserved = R"({"conditions": [{"type": "QuotaReserved", "status": "True"}],
    "admission": {"clusterQueue": "cq", "podSetAssignments": [
      {"name": "main", "flavors": {"cpu": "spot", "memory": "spot", "nvidia.com/gpu": "a100"}}]}})";
const char* const kAdmitted = R"({"conditions": [{"type": "QuotaReserved", "status": "True"},
      {"type": "Admitted", "status": "True"}],
    "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "spot"}}]}})";
const char* const kEvicted = R"({"conditions": [
      {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "message": "too late"}],
    "requeueState": {"count": 2}})";
const char* const kPreempted = R"({"conditions": [
      {"type": "Evicted", "status": "True", "reason": "Preempted", "message": "Preempted to accommodate b"},
      {"type": "Preempted", "status": "True", "reason": "InClusterQueue", "message": "Preempted to accommodate b"}]})";
const char* const kRequeued = R"({"conditions": [
      {"type": "Requeued", "status": "True", "reason": "BackoffFinished", "message": "m"}], "requeueState": {"count": 2}})";

struct Line {
  std::string message, fields;
  bool operator==(const Line&) const = default;
};

std::vector<Line> lines(const char* before, const char* after) {
  std::vector<Line> all;
  for (const LoggedDecision& decision : decisions_of(*workload(before), workload(after)->status))
    all.push_back({decision.message, decision.fields_as_text()});
  return all;
}

const std::string kSubject = "workload=team-a/job-a-1 localQueue=main job=team-a/Job/a";

}  // namespace

TEST_CASE("decision log: each decision about a Workload is one line with its queue, flavors and reason") {
  CHECK(lines(kPending, kReserved) ==
        std::vector<Line>{{"quota reserved", kSubject + " clusterQueue=cq flavors=a100, spot"}});
  CHECK(lines(kReserved, kAdmitted) ==
        std::vector<Line>{{"workload admitted", kSubject + " clusterQueue=cq flavors=spot"}});
  CHECK(lines(kAdmitted, kEvicted) ==
        std::vector<Line>{
            {"workload evicted",
             kSubject + " clusterQueue=cq flavors=spot reason=PodsReadyTimeout message=too late attempt=2"}});
  CHECK(lines(kAdmitted, kPreempted) ==
        std::vector<Line>{
            {"workload preempted",
             kSubject + " clusterQueue=cq flavors=spot reason=InClusterQueue message=Preempted to accommodate b"}});
  CHECK(lines(kEvicted, kRequeued) ==
        std::vector<Line>{{"workload requeued", kSubject + " reason=BackoffFinished message=m attempt=2"}});
}

TEST_CASE("decision log: what was so before is not said again") {
  for (const char* status : {kPending, kReserved, kAdmitted, kEvicted, kPreempted, kRequeued})
    CHECK(lines(status, status).empty());
}

TEST_CASE("decision log: a deactivation has the reason that it was decided for") {
  const auto target = workload(R"({"conditions": [
      {"type": "DeactivationTarget", "status": "True", "reason": "RequeuingLimitExceeded", "message": "m"}]})");
  CHECK(std::string(deactivation_of(*target).message) == "workload deactivated");
  CHECK(deactivation_of(*target).fields_as_text() == kSubject + " reason=RequeuingLimitExceeded message=m");
}

}  // namespace decision_log_test
