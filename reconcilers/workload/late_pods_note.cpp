#include "reconcilers/workload/late_pods_note.h"

#include "api/codec/json.h"
#include "api/workload_conditions.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// The condition that such a write sets.
bool is_of_late_pods(const json& condition) {
  if (string_at(condition, {"status"}) != "True") return false;
  const std::string_view type = string_at(condition, {"type"}), reason = string_at(condition, {"reason"});
  if (type == kEvictedCondition) return reason == kPodsReadyTimeoutReason || reason == kFlavorFallbackReason;
  return type == kDeactivationTargetCondition &&
         (reason == kRequeuingLimitExceededReason || reason == kFlavorsExhaustedReason);
}

}  // namespace

void add_pod_reason(std::string_view note, Write& write) {
  if (note.empty() || !write.for_late_pods) return;
  for (json& condition : write.body["status"]["conditions"]) {
    if (!is_of_late_pods(condition)) continue;
    std::string message(string_at(condition, {"message"}));
    if (message.find(note) != std::string::npos) continue;
    // Its parentheses are those of one flavor.
    if (string_at(condition, {"reason"}) == kFlavorsExhaustedReason) {
      condition["message"] = message.append("; ").append(note);
      continue;
    }
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
