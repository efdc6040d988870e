#include "scheduler/queue_readiness.h"

#include <set>
#include <string_view>
#include <vector>

#include "api/workload_conditions.h"

namespace muster {
namespace {

template <class Names>
std::string join(const Names& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  return text;
}

std::vector<std::string> missing_flavors(const ClusterQueue& queue, const QueueSurroundings& surroundings) {
  std::vector<std::string> missing;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      if (!surroundings.has_flavor(flavor.name)) missing.push_back(flavor.name);
    }
  }
  return missing;
}

}  // namespace

QueueReadiness readiness_of(const ClusterQueue& queue, const QueueSurroundings& surroundings) {
  if (queue.meta.deleting)
    return {false, std::string(kTerminatingReason), "Can't admit new workloads; clusterQueue is terminating"};
  std::string reason;
  std::string message;
  const auto add = [&](std::string_view why, const std::string& text) {
    if (reason.empty()) reason = why;
    message.append(message.empty() ? "" : ", ").append(text);
  };
  if (queue.stop_policy != StopPolicy::kNone) add(kStoppedReason, "is stopped");
  if (const auto names = missing_flavors(queue, surroundings); !names.empty())
    add(kFlavorNotFoundReason, "references missing ResourceFlavor(s): " + join(names));
  std::set<std::string> missing, inactive;
  for (const AdmissionCheckRule& rule : queue.admission_checks) {
    const CheckPresence check = surroundings.check(rule.name);
    if (check == CheckPresence::kMissing) missing.insert(rule.name);
    if (check == CheckPresence::kInactive) inactive.insert(rule.name);
  }
  if (!missing.empty()) add(kAdmissionCheckNotFoundReason, "references missing AdmissionCheck(s): " + join(missing));
  if (!inactive.empty()) add(kAdmissionCheckInactiveReason, "references inactive AdmissionCheck(s): " + join(inactive));
  if (surroundings.in_cohort_cycle)
    add("CohortCycle", "the parents of its Cohort form a cycle; change one spec.parentName");
  if (reason.empty()) return {true, std::string(kReadyReason), "Can admit new workloads"};
  return {false, std::move(reason), "Can't admit new workloads: " + message + "."};
}

}  // namespace muster
