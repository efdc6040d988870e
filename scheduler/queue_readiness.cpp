#include "scheduler/queue_readiness.h"

#include <set>
#include <string_view>
#include <vector>

#include "api/meta/names.h"
#include "api/workload_conditions.h"

namespace muster::scheduler {
namespace {

std::string listed(const std::set<std::string>& names) {
  return join({names.begin(), names.end()}, ",");
}

}  // namespace

// As in Kueue the condition has the first reason, and the message all of them, so that an administrator sees them at
// once.
QueueReadiness readiness_of(const ClusterQueue& queue, const QueueSurroundings& surroundings) {
  // Nothing else matters then: the finalizer keeps the queue only for the Workloads that it has admitted.
  if (queue.meta.deleting)
    return {false, std::string(kTerminatingReason), "Can't admit new workloads; clusterQueue is terminating"};
  std::string reason;
  std::string message;
  const auto add = [&](std::string_view why, const std::string& text) {
    if (reason.empty()) reason = why;
    message.append(message.empty() ? "" : ", ").append(text);
  };
  if (queue.stop_policy != StopPolicy::kNone) add(kStoppedReason, "is stopped");
  std::vector<std::string> flavors = flavors_of(queue);
  std::erase_if(flavors, [&](const std::string& flavor) { return surroundings.has_flavor(flavor); });
  if (!flavors.empty()) add(kFlavorNotFoundReason, "references missing ResourceFlavor(s): " + join(flavors, ","));
  std::set<std::string> missing, inactive;
  for (const AdmissionCheckRule& rule : queue.admission_checks) {
    const CheckPresence check = surroundings.check(rule.name);
    if (check == CheckPresence::kMissing) missing.insert(rule.name);
    if (check == CheckPresence::kInactive) inactive.insert(rule.name);
  }
  if (!missing.empty()) add(kAdmissionCheckNotFoundReason, "references missing AdmissionCheck(s): " + listed(missing));
  if (!inactive.empty())
    add(kAdmissionCheckInactiveReason, "references inactive AdmissionCheck(s): " + listed(inactive));
  // KEP-79: no quota can be computed for a Cohort that is above itself.
  if (surroundings.in_cohort_cycle)
    add("CohortCycleDetected", "the parents of its Cohort form a cycle; change one spec.parentName");
  if (reason.empty()) return {true, std::string(kReadyReason), "Can admit new workloads"};
  return {false, std::move(reason), "Can't admit new workloads: " + message + "."};
}

}  // namespace muster::scheduler
