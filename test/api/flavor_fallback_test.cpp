// The rules of flavor fallback and the history of a Workload, as they are read and written.
#include "api/flavor_fallback.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/workload.h"

namespace flavor_fallback_test {

using namespace muster;
using nlohmann::json;
using std::chrono::hours;
using std::chrono::minutes;

namespace {

FallbackStrategy strategy_of(const char* text) {
  return read_fallback_strategy(json::parse(text));
}

}  // namespace

TEST_CASE("flavor fallback: a rule by name comes before the one for each flavor, for its trigger alone") {
  const FallbackStrategy strategy = strategy_of(R"({"rules": [{"name": "*", "timeoutMinutes": 5},
    {"name": "spot", "trigger": "TimeoutForPodsReadyExceeded", "timeout": "90s"}, {"name": "on-demand"},
    {"name": "spot", "trigger": "AdmissionCheckRejected"}]})");
  CHECK(strategy.timeout_of("spot") == std::chrono::seconds(90));
  CHECK(strategy.timeout_of("reservation") == minutes(5));
  CHECK_FALSE(strategy.timeout_of("on-demand"));
  CHECK_FALSE(strategy.applies("on-demand", FallbackTrigger::kTimeout));
  CHECK(strategy.applies("spot", FallbackTrigger::kRejectedCheck));
  CHECK_FALSE(strategy.applies("reservation", FallbackTrigger::kRejectedCheck));
  CHECK(strategy.longest_timeout() == minutes(5));
}

TEST_CASE("flavor fallback: without a failure policy all flavors are tried again") {
  CHECK(strategy_of("{}").failure_policy == FallbackFailurePolicy::kRetryAllFlavors);
  CHECK(strategy_of(R"({"failurePolicy": "DeactivateWorkload"})").failure_policy ==
        FallbackFailurePolicy::kDeactivateWorkload);
  CHECK_FALSE(strategy_of("{}").longest_timeout());
}

TEST_CASE("flavor fallback: what the webhook would refuse has no effect, and no timeout is too long to add up") {
  const FallbackStrategy strategy = strategy_of(R"({"rules": [{"name": "a", "timeout": "0s"},
    {"name": "b", "timeout": "soon"}, {"name": "c", "timeoutMinutes": -1}, {"name": "d", "trigger": "Other"},
    {"name": "e", "timeoutMinutes": 2147483647}, {"name": "f", "timeout": "2562047h"}]})");
  for (const char* flavor : {"a", "b", "c", "d"}) CHECK_FALSE(strategy.timeout_of(flavor));
  for (const char* flavor : {"e", "f"}) CHECK(strategy.timeout_of(flavor) == kLongestFallbackTimeout);
}

TEST_CASE("flavor fallback: a ClusterQueue has its strategy under both names") {
  for (const char* name : {"fallbackStrategy", "flavorFallbackStrategy"}) {
    json queue = {{"spec", {{"flavorFungibility", {{name, {{"rules", {{{"name", "*"}, {"timeoutMinutes", 5}}}}}}}}}}};
    const ClusterQueuePtr read = read_cluster_queue(queue);
    REQUIRE(read->fallback);
    CHECK(read->fallback->timeout_of("any") == minutes(5));
    CHECK(read->unsupported.empty());
  }
  CHECK_FALSE(read_cluster_queue({{"spec", json::object()}})->fallback);
}

TEST_CASE("flavor fallback: a history that is read and written is the same") {
  const json status = json::parse(R"({
    "flavorAssignmentHistory": [
      {"resourceFlavor": "spot", "assignmentTime": "2026-01-01T12:00:00Z", "usedSeconds": 600,
       "failure": {"reason": "TimeoutForPodsReadyExceeded", "time": "2026-01-01T12:10:00Z"}},
      {"resourceFlavor": "on-demand", "assignmentTime": "2026-01-01T12:10:05Z"}],
    "flavorFallback": {"clusterQueue": "team", "round": 2}})");
  const WorkloadPtr workload = read_workload({{"status", status}});
  const FlavorHistory& history = workload->status.flavors;
  REQUIRE(history.attempts.size() == 2);
  CHECK(history.find("spot")->failure->reason == "TimeoutForPodsReadyExceeded");
  CHECK(history.find("on-demand")->used_seconds == 0);
  CHECK(history.find("reservation") == nullptr);
  CHECK(history.is_about("team"));
  CHECK_FALSE(history.is_about("other"));
  CHECK(status_patch(WorkloadStatus(), workload->status) == status);
  CHECK(status_patch(workload->status, workload->status) == json::object());
  CHECK(status_patch(workload->status, WorkloadStatus()) ==
        json{{"flavorAssignmentHistory", nullptr}, {"flavorFallback", nullptr}});
}

TEST_CASE("flavor fallback: a history that nobody should have written is read without harm") {
  const FlavorHistory history = read_flavor_history(json::parse(R"({
    "flavorAssignmentHistory": [{"resourceFlavor": 7, "usedSeconds": -5, "assignmentTime": "x", "failure": {}}, null],
    "flavorFallback": {"clusterQueue": "team", "round": -3}})"));
  REQUIRE(history.attempts.size() >= 1);
  CHECK(history.attempts[0].used_seconds == 0);
  CHECK(history.attempts[0].assigned_at.is_zero());
  CHECK_FALSE(history.attempts[0].failure);
  CHECK(history.fallback->round == 1);
}

}  // namespace flavor_fallback_test
