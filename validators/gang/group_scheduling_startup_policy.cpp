// An InOrder startup policy makes the next replicated job wait until the previous one is ready. Behind a
// barrier for both, none ever becomes ready (KEP-498, Constraints).
// A gang of one replicated job has no such conflict. Rejected, for example:
//
//   startupPolicy: {startupPolicyOrder: InOrder}
//   groupSchedulingConfig: {timeoutAfterSeconds: 300}
//   replicatedJobs: [{name: driver, ...}, {name: workers, ...}]
//
// The API server allows adding startupPolicy to a JobSet without one, so updates are checked too.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_startup_policy {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  if (string_at(object, {"spec", "startupPolicy", "startupPolicyOrder"}) != "InOrder") return {};
  const std::optional<jobs::GroupConfig> config = jobs::group_config(jobs::jobset, object);
  if (!config || config->targets.size() < 2) return {};
  std::string targets;
  for (const std::string& target : config->targets) targets += (targets.empty() ? "" : ", ") + target;
  return {
      invalid("spec.startupPolicy.startupPolicyOrder", json("InOrder"),
              "the replicated jobs " + targets +
                  " start as a group, so InOrder would deadlock: no replicated job becomes ready before all pods have "
                  "started, and the next one is never created; use AnyOrder, or make only one replicated job a "
                  "target of the group")};
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_startup_policy",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_startup_policy
