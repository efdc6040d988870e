// Who can change which flavors have failed for a Workload (docs/threat-model.md).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/support/admission_requests.h"
#include "validators/validator.h"

namespace workload_flavor_history_test {

using namespace muster;
using namespace muster::validators;
using nlohmann::json;

TEST_CASE("Workloads: what a Workload has tried is changed by muster alone") {
  const json failed = json::parse(R"([{"resourceFlavor": "spot", "usedSeconds": 900,
    "failure": {"reason": "TimeoutForPodsReadyExceeded", "time": "2026-01-01T12:15:00Z"}}])");
  const json round = {{"clusterQueue", "team"}, {"round", 2}};
  RuleSettings settings;
  settings.admitters = {"muster"};
  const ClusterView view;
  const auto is_allowed = [&](const char* user, const json& before, const json& after) {
    const json workload = {{"metadata", {{"name", "w"}, {"namespace", "team-a"}}}, {"spec", json::object()}};
    AdmissionRequest request = test::request_for(kWorkloads, workload, workload);
    request.sub_resource = "status";
    request.name = "w";
    request.user.username = user;
    request.old_object["status"] = before;
    request.object["status"] = after;
    return validate({request, view, settings}).is_allowed();
  };
  const json whole = {{"flavorAssignmentHistory", failed}, {"flavorFallback", round}};
  json cleared = whole, more_time = whole, earlier_round = whole;
  cleared["flavorAssignmentHistory"] = json::array();
  more_time["flavorAssignmentHistory"][0]["usedSeconds"] = 1;
  earlier_round["flavorFallback"]["round"] = 1;
  for (const json& after : {cleared, more_time, earlier_round, json::object()}) {
    CHECK_FALSE(is_allowed("ada", whole, after));
    CHECK_FALSE(is_allowed("ada", after, whole));
    CHECK(is_allowed("muster", whole, after));
  }
  CHECK(is_allowed("ada", whole, whole));
}

}  // namespace workload_flavor_history_test
