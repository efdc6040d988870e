#include "test/world/invariants/preemption_invariants.h"

#include <algorithm>

#include "api/texts/workload_texts.h"
#include "api/workload.h"
#include "kinds/typed_object.h"

namespace muster::world {
namespace {

// An admission is decided before it is seen.
constexpr Duration kWay = std::chrono::seconds(1);

}  // namespace

void PreemptionInvariants::see(const Change& change) {
  if (*change.type != kWorkloads || change.before == nullptr) return;
  const WorkloadPtr before = read_workload(*change.before), victim = read_workload(*change.after);
  if (change.removed) return void(admitted_.erase(victim->meta.uid));
  if (victim->admitted() && !before->admitted())
    admitted_[victim->meta.uid] = {timeline_.elapsed(), victim->priority_class};
  if (!victim->is_true(kPreemptedCondition) || before->is_true(kPreemptedCondition) || !victim->status.admission)
    return;
  const WorkloadPtr preemptor = preemptor_of(*victim);
  if (preemptor == nullptr) return;
  const ClusterQueuePtr its = cluster_queue(victim->status.admission->cluster_queue), others = queue_of(*preemptor);
  if (its == nullptr || others == nullptr) return;
  if (its->meta.name == others->meta.name) check_right(*victim, *preemptor, *its);
  check_protection(*victim, *preemptor, *its, *others);
}

// The message of the condition names its UID.
WorkloadPtr PreemptionInvariants::preemptor_of(const Workload& victim) const {
  const std::string message = find_condition(victim.status.conditions, kPreemptedCondition)->message;
  for (const ObjectPtr& object : server_.list(kWorkloads)) {
    if (message.find("(UID: " + read_meta(*object).uid + ",") != std::string::npos) return read_workload(*object);
  }
  return nullptr;
}

ClusterQueuePtr PreemptionInvariants::cluster_queue(const std::string& name) const {
  const ObjectPtr object = server_.get({&kClusterQueues, "", name});
  return object == nullptr ? nullptr : read_cluster_queue(*object);
}

ClusterQueuePtr PreemptionInvariants::queue_of(const Workload& pending) const {
  const ObjectPtr local = server_.get({&kLocalQueues, pending.meta.ns, pending.queue_name});
  return local == nullptr ? nullptr : cluster_queue(read_local_queue(*local)->cluster_queue);
}

void PreemptionInvariants::check_right(const Workload& victim, const Workload& preemptor, const ClusterQueue& queue) {
  if (queue.preemption.within_cluster_queue == PreemptionPolicy::kLowerPriority &&
      victim.priority >= preemptor.priority)
    violated_("Workload " + preemptor.meta.name + " of priority " + std::to_string(preemptor.priority) + " preempts " +
              victim.meta.name + " of priority " + std::to_string(victim.priority) + " in its own ClusterQueue");
}

Duration PreemptionInvariants::protection_of(const Workload& victim, const ClusterQueue& its,
                                             std::optional<Duration> PreemptionProtection::*kind) const {
  if (victim.priority_class && victim.priority_class->kind == kWorkloadPriorityClasses.kind) {
    const ObjectPtr named = server_.get({&kWorkloadPriorityClasses, "", victim.priority_class->name.text()});
    const auto length = named == nullptr ? std::nullopt : read_preemption_protection(read_meta(*named)).*kind;
    if (length) return *length;
  }
  return (its.protection.*kind).value_or(Duration::zero());
}

void PreemptionInvariants::check_protection(const Workload& victim, const Workload& preemptor, const ClusterQueue& its,
                                            const ClusterQueue& preemptors) {
  const Condition* admitted = find_condition(victim.status.conditions, kAdmittedCondition);
  if (admitted == nullptr || !admitted->is_true() || preemptor.meta.created < admitted->last_transition) return;
  const auto seen = admitted_.find(victim.meta.uid);
  if (seen != admitted_.end() && seen->second.priority_class != victim.priority_class) return;
  const auto kind =
      its.meta.name == preemptors.meta.name ? &PreemptionProtection::in_queue : &PreemptionProtection::reclaim;
  const Duration respected = preemptors.protection.limit.value_or((preemptors.protection.*kind).value_or(Duration(0)));
  const Duration length = std::min(protection_of(victim, its, kind), respected);
  const Condition* preempted = find_condition(victim.status.conditions, kPreemptedCondition);
  const Duration by_stamps =
      time_between(to_time_point(admitted->last_transition), to_time_point(preempted->last_transition));
  const Duration ran =
      seen == admitted_.end() ? by_stamps : std::max(by_stamps, timeline_.elapsed() - seen->second.at + kWay);
  // A clock that runs fast ends it early by as much as it runs fast.
  if (ran + scaled(length, clock_skew_) < length)
    violated_("Workload " + victim.meta.name + " is preempted " + format_duration(ran) +
              " after its admission, and it is protected for " + format_duration(length));
}

}  // namespace muster::world
