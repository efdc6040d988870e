#include "reconcilers/workload/late_pods_note.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/flavor_fallback.h"
#include "api/meta/resource_type.h"
#include "api/workload_conditions.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A rejected check has the same reasons in the conditions, and no pods. What the write counts tells them apart.
bool flavor_timed_out(const Write& write) {
  return std::any_of(write.measurements.begin(), write.measurements.end(), [](const Measurement& measured) {
    return measured.what == Measured::kFlavorFallback && measured.reason == to_text(FallbackTrigger::kTimeout);
  });
}

bool is_of_late_pods(const Write& write, const json& condition) {
  if (string_at(condition, {"status"}) != "True") return false;
  const std::string_view type = string_at(condition, {"type"}), reason = string_at(condition, {"reason"});
  if (type == kEvictedCondition)
    return reason == kPodsReadyTimeoutReason || (reason == kFlavorFallbackReason && flavor_timed_out(write));
  if (type == kDeactivationTargetCondition)
    return reason == kRequeuingLimitExceededReason || (reason == kFlavorsExhaustedReason && flavor_timed_out(write));
  return false;
}

}  // namespace

bool evicts_late_pods(const Write& write) {
  if (write.verb != Verb::kPatchStatus || write.target.type->plural != kWorkloads.plural) return false;
  const json& conditions = array_at(write.body, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const json& condition) { return is_of_late_pods(write, condition); });
}

void add_pod_reason(std::string_view note, Write& write) {
  if (note.empty() || !evicts_late_pods(write)) return;
  for (json& condition : write.body["status"]["conditions"]) {
    if (!is_of_late_pods(write, condition)) continue;
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
