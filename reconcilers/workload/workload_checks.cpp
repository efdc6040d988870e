#include "reconcilers/workload/workload_checks.h"

#include <algorithm>
#include <set>

#include "reconcilers/workload/backoff.h"

namespace muster::reconcilers {
namespace {

bool applies(const AdmissionCheckRule& rule, const std::optional<Admission>& admission, const ClusterQueue& queue) {
  if (admission) return rule.applies_to_any(assigned_flavors(*admission));
  const std::vector<std::string> all = flavors_of(queue);
  return std::all_of(all.begin(), all.end(), [&](const std::string& flavor) { return rule.applies_to(flavor); });
}

// "AdmissionChecks in Retry state: \"a\" (why); \"b\""; empty when none is in that state.
std::string describe_checks(const WorkloadStatus& status, std::string_view state) {
  std::set<std::string> parts;
  for (const AdmissionCheckState& check : status.admission_checks) {
    if (check.state != state) continue;
    parts.insert('"' + check.name + '"' + (check.message.empty() ? "" : " (" + check.message + ")"));
  }
  if (parts.empty()) return "";
  std::string text = parts.size() > 1 ? "AdmissionChecks in " : "AdmissionCheck in ";
  text.append(state).append(" state: ");
  for (const std::string& part : parts) text.append(part == *parts.begin() ? "" : "; ").append(part);
  return text;
}

}  // namespace

std::vector<std::string> checks_of(const std::optional<Admission>& admission, const ClusterQueue& queue) {
  std::set<std::string> names;
  for (const AdmissionCheckRule& rule : queue.admission_checks) {
    if (applies(rule, admission, queue)) names.insert(rule.name);
  }
  return {names.begin(), names.end()};
}

void sync_checks(WorkloadEditor& editor, const ClusterQueue& queue) {
  const std::vector<std::string> wanted = checks_of(editor.status.admission, queue);
  auto& checks = editor.status.admission_checks;
  const auto is_wanted = [&](const AdmissionCheckState& check) {
    return std::binary_search(wanted.begin(), wanted.end(), check.name);
  };
  std::erase_if(checks, [&](const AdmissionCheckState& check) { return !is_wanted(check); });
  if (checks.size() == wanted.size()) return;
  for (const std::string& name : wanted) {
    const bool known =
        std::any_of(checks.begin(), checks.end(), [&](const AdmissionCheckState& check) { return check.name == name; });
    if (known) continue;
    AdmissionCheckState check;
    check.name = name;
    check.state = kCheckPending;
    check.last_transition = whole_seconds(editor.time());
    checks.push_back(std::move(check));
  }
  std::sort(checks.begin(), checks.end(),
            [](const AdmissionCheckState& a, const AdmissionCheckState& b) { return a.name < b.name; });
}

void note_retry_time(WorkloadEditor& editor) {
  Timestamp latest;
  for (const AdmissionCheckState& check : editor.status.admission_checks) {
    if (check.state != kCheckRetry || !check.requeue_after_seconds || check.last_transition.is_zero()) continue;
    Timestamp retry = check.last_transition;
    retry.seconds += *check.requeue_after_seconds;
    latest = std::max(latest, retry);
  }
  if (latest.is_zero() || to_time_point(latest) <= editor.time()) return;
  RequeueState state = editor.status.requeue_state.value_or(RequeueState());
  if (set_requeue_at(state, latest, false)) editor.status.requeue_state = state;
}

std::string describe_rejected_checks(const WorkloadStatus& status) {
  return describe_checks(status, kCheckRejected);
}

Step enforce_checks(WorkloadEditor& editor) {
  if (editor.is_true(kEvictedCondition)) return Step::kContinue;
  if (std::string rejected = describe_rejected_checks(editor.status); !rejected.empty()) {
    editor.record_event(EventReason::kAdmissionCheckRejected, "Deactivated due to " + rejected);
    editor.target_deactivation(kAdmissionCheckReason, rejected);
    return Step::kDone;
  }
  const std::string retry = describe_checks(editor.status, kCheckRetry);
  if (retry.empty()) return Step::kContinue;
  editor.evict(kAdmissionCheckReason, "", "Evicted due to " + retry);
  return Step::kDone;
}

Step release_unanswered(WorkloadEditor& editor, const state::ClusterState& state) {
  if (editor.is_true(kAdmittedCondition)) return Step::kContinue;
  for (const AdmissionCheckState& check : editor.status.admission_checks) {
    const AdmissionCheck* present = state.find<AdmissionCheck>(check.name);
    if (check.state != kCheckPending || present == nullptr || !present->has_no_controller()) continue;
    editor.release(kSuspendedReason, "AdmissionCheck " + check.name + " is for " + present->controller +
                                         ", a controller of Kueue that muster does not have");
    return Step::kDone;
  }
  return Step::kContinue;
}

}  // namespace muster::reconcilers
