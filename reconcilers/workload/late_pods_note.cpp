#include "reconcilers/workload/late_pods_note.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/flavor_fallback.h"
#include "api/meta/resource_type.h"
#include "api/workload_conditions.h"
#include "reconcilers/workload/flavor_fallback.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A rejected check has the same reasons in the conditions, and no pods. Only the message says which it was: when the
// write is sent, what it counts has left it.
bool flavor_timed_out(std::string_view message) {
  return message.find(kNotReadyWithin) != std::string_view::npos ||
         message.find("(" + std::string(to_text(FallbackTrigger::kTimeout)) + ")") != std::string_view::npos;
}

bool is_of_late_pods(const json& condition) {
  if (string_at(condition, {"status"}) != "True") return false;
  const std::string_view type = string_at(condition, {"type"}), reason = string_at(condition, {"reason"}),
                         message = string_at(condition, {"message"});
  if (type == kEvictedCondition)
    return reason == kPodsReadyTimeoutReason || (reason == kFlavorFallbackReason && flavor_timed_out(message));
  if (type == kDeactivationTargetCondition)
    return reason == kRequeuingLimitExceededReason || (reason == kFlavorsExhaustedReason && flavor_timed_out(message));
  return false;
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
