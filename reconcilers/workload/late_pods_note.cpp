#include "reconcilers/workload/late_pods_note.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/resource_type.h"
#include "api/workload_conditions.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

bool is_of_late_pods(const json& condition) {
  if (string_at(condition, {"status"}) != "True") return false;
  const std::string_view type = string_at(condition, {"type"}), reason = string_at(condition, {"reason"});
  return (type == kEvictedCondition && reason == kPodsReadyTimeoutReason) ||
         (type == kDeactivationTargetCondition && reason == kRequeuingLimitExceededReason);
}

}  // namespace

bool evicts_late_pods(const Write& write) {
  if (write.verb != Verb::kPatchStatus || write.target.type->plural != kWorkloads.plural) return false;
  const json& conditions = array_at(write.body, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), is_of_late_pods);
}

void add_pod_reason(std::string_view note, Write& write) {
  if (note.empty() || !evicts_late_pods(write)) return;
  for (json& condition : write.body["status"]["conditions"]) {
    if (!is_of_late_pods(condition)) continue;
    std::string message(string_at(condition, {"message"}));
    if (message.find(note) != std::string::npos) continue;
    if (message.ends_with(')')) {
      message.pop_back();
      message.append("; ");
    } else {
      message.append(" (");
    }
    condition["message"] = message.append(note).append(")");
  }
}

}  // namespace muster::reconcilers
