#include "state/scheduler_driver.h"

#include <algorithm>

#include "api/workload.h"
#include "base/overloaded.h"
#include "scheduler/eligibility.h"
#include "scheduler/nodes/node_capacity.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"
#include "state/namespaced_name.h"
#include "state/quota_demand.h"

namespace muster::state {
namespace {

bool blocks_admission(const QueueSettings& settings) {
  return settings.wait_for_pods_ready && settings.wait_for_pods_ready->block_admission;
}

// A pending decision that the object already has, or that came too late: no write is left.
bool is_written(const PendingDecision& decision, const Workload& workload) {
  const bool over = workload.finished() || !workload.active || workload.meta.deleting;
  return std::visit(
      Overloaded{
          [&](const scheduler::Admitted&) { return workload.has_quota_reserved() || over; },
          [&](const scheduler::Preempted&) { return workload.evicted() || !workload.has_quota_reserved(); },
          [&](const Inadmissible&) { return workload.has_quota_reserved() || over; },
      },
      decision);
}

// Limit for one decide(): enough for every release, and an end if Workloads evict each other.
constexpr int kMostWithdrawals = 1000;
constexpr Duration kBetweenMessages = std::chrono::seconds(30);
}  // namespace

scheduler::SchedulerSettings scheduler_settings_of(const QueueSettings& settings) {
  scheduler::SchedulerSettings made{.fair_sharing = settings.fair_sharing,
                                    .ignore_undeclared_resources = settings.ignore_undeclared_resources,
                                    .topology_requests = settings.rules.enabled(Gate::kTopologyAwareScheduling),
                                    .watches_nodes = settings.watch_nodes,
                                    .reclaims = settings.rules.enabled(Gate::kReclaimablePods)};
  if (settings.wait_for_pods_ready) {
    made.order_by_eviction =
        settings.wait_for_pods_ready->requeuing.timestamp == RequeuingStrategy::Timestamp::kEviction;
    made.one_by_one = settings.wait_for_pods_ready->block_admission;
  }
  return made;
}

struct SchedulerDriver::Unpersisted {
  PendingDecision decision;
  MonotonicTime made{};  // an admission
  bool sent = false;
  MonotonicTime sent_at{};
  // An admission that is being written was revoked: to be written once the other is.
  std::optional<scheduler::Preempted> then{};
};

SchedulerDriver::SchedulerDriver(const QueueSettings& settings, DemandSources sources)
    : settings_(settings),
      sources_(sources),
      scheduler_(std::make_unique<scheduler::Scheduler>(scheduler_settings_of(settings))),
      decisions_(std::make_unique<std::map<std::string, Unpersisted, std::less<>>>()) {}

SchedulerDriver::~SchedulerDriver() = default;
SchedulerDriver::SchedulerDriver(SchedulerDriver&&) noexcept = default;
SchedulerDriver& SchedulerDriver::operator=(SchedulerDriver&&) noexcept = default;

void SchedulerDriver::follow(Now now) {
  scheduler_->follow(now);
  drop_void_refusals();
}

void SchedulerDriver::put(const TypedObject& object, const ClusterState& state, Now now) {
  std::visit(Overloaded{
                 [&](const WorkloadPtr& workload) { put_workload(workload, state, now); },
                 [&](const ClusterQueuePtr& queue) {
                   scheduler_->put(queue);
                   put_after_late_names(state, now);
                 },
                 [&](const LocalQueuePtr& queue) { scheduler_->put(queue); },
                 [&](const CohortPtr& cohort) {
                   scheduler_->put(cohort);
                   put_after_late_names(state, now);
                 },
                 [&](const ResourceFlavorPtr& flavor) { scheduler_->put(flavor); },
                 [&](const AdmissionCheckPtr& check) { scheduler_->put(check); },
                 [&](const PriorityClassPtr& priority_class) { scheduler_->put(priority_class); },
                 [&](const PlainObjectPtr& plain) {
                   if (plain->type->kind == kNamespaces.kind)
                     scheduler_->put_namespace(plain->meta.name, plain->meta.labels);
                 },
                 [](const auto&) {},
             },
             object);
  if (node_capacity_ != nullptr) note_flavor(object, true, state, now);
  put_workloads_affected_by(object, state, now);
}

void SchedulerDriver::remove(const TypedObject& object, const ClusterState& state, Now now) {
  const ObjectMeta& meta = meta_of(object);
  std::visit(Overloaded{
                 [&](const WorkloadPtr&) {
                   if (node_capacity_ != nullptr) node_capacity_->remove_workload(path_of(meta));
                   scheduler_->remove_workload(meta.ns, meta.name);
                   decisions_->erase(path_of(meta));
                   blocks_.erase(path_of(meta));
                   admitted_since_.erase(path_of(meta));
                 },
                 [&](const ClusterQueuePtr&) { scheduler_->remove_cluster_queue(meta.name); },
                 [&](const LocalQueuePtr&) { scheduler_->remove_local_queue(meta.ns, meta.name); },
                 [&](const CohortPtr&) { scheduler_->remove_cohort(meta.name); },
                 [&](const ResourceFlavorPtr&) { scheduler_->remove_resource_flavor(meta.name); },
                 [&](const AdmissionCheckPtr&) { scheduler_->remove_admission_check(meta.name); },
                 [&](const PriorityClassPtr& priority_class) {
                   if (!priority_class->for_pods) scheduler_->remove_workload_priority_class(meta.name);
                 },
                 [&](const PlainObjectPtr& plain) {
                   if (plain->type->kind == kNamespaces.kind) scheduler_->remove_namespace(meta.name);
                 },
                 [](const auto&) {},
             },
             object);
  if (node_capacity_ != nullptr) note_flavor(object, false, state, now);
  put_workloads_affected_by(object, state, now);
}

void SchedulerDriver::put_workload(const WorkloadPtr& workload, const ClusterState& state, Now now) {
  QuotaDemand demand = quota_demand_of(*workload, state, settings_, sources_);
  if (is_overtaken(*workload)) refuse(key_of(kWorkloads, workload->meta), now);
  if (node_capacity_ != nullptr) node_capacity_->put(*workload);
  scheduler_->put(workload, demand.per_pod, now, std::move(demand.misconfigured), demand.can_be_stopped);
  advance(*workload);
  note_block(*workload, now);
  note_admission(*workload, now);
}

void SchedulerDriver::note_admission(const Workload& workload, Now now) {
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  if (admitted == nullptr || !admitted->is_true() || workload.finished()) {
    admitted_since_.erase(path_of(workload.meta));
    return;
  }
  AdmittedSince& known = admitted_since_[path_of(workload.meta)];
  if (known.uid == workload.meta.uid && known.stamp == admitted->last_transition) return;
  const Duration age = std::max(time_between(to_time_point(admitted->last_transition), now.wall), Duration::zero());
  known = {.uid = workload.meta.uid, .stamp = admitted->last_transition, .since = now.monotonic - age};
}

Duration SchedulerDriver::admitted_for(const Workload& workload, Now now) const {
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  if (admitted == nullptr || !admitted->is_true()) return Duration::zero();
  const auto known = admitted_since_.find(path_of(workload.meta));
  const bool seen = known != admitted_since_.end() && known->second.uid == workload.meta.uid &&
                    known->second.stamp == admitted->last_transition;
  const Duration age =
      seen ? now.monotonic - known->second.since : time_between(to_time_point(admitted->last_transition), now.wall);
  return std::max(age, Duration::zero());
}

// An admission that is not yet written, of a Workload that asks for something else by now: from another queue, say.
bool SchedulerDriver::is_overtaken(const Workload& workload) const {
  const auto found = decisions_->find(path_of(workload.meta));
  if (found == decisions_->end() || workload.has_quota_reserved()) return false;
  const auto* admitted = std::get_if<scheduler::Admitted>(&found->second.decision);
  return admitted != nullptr && admitted->workload->meta.generation != workload.meta.generation;
}

// A decision that the object shows is written, and its successor follows.
void SchedulerDriver::advance(const Workload& workload) {
  const auto found = decisions_->find(path_of(workload.meta));
  if (found == decisions_->end() || !is_written(found->second.decision, workload)) return;
  if (found->second.then)
    found->second = {.decision = *std::move(found->second.then)};
  else
    decisions_->erase(found);
}

void SchedulerDriver::note_block(const Workload& workload, Now now) {
  if (!blocks_admission(settings_)) return;
  const std::string path = path_of(workload.meta);
  // An older version of a Workload whose admission is decided contains no news.
  const auto decision = decisions_->find(path);
  if (decision != decisions_->end() && std::holds_alternative<scheduler::Admitted>(decision->second.decision)) return;
  if (const auto block = admission_block(workload, *settings_.wait_for_pods_ready))
    blocks_.put(path, *block, now);
  else
    blocks_.erase(path);
}

std::optional<ObjectKey> SchedulerDriver::blocked_by(Now now) const {
  const std::string_view path = blocks_.first(now.monotonic);
  if (path.empty()) return std::nullopt;
  const auto [ns, name] = split_path(path);
  return ObjectKey{&kWorkloads, std::string(ns), std::string(name)};
}

// Their demand has possibly changed with this object.
void SchedulerDriver::put_workloads_affected_by(const TypedObject& object, const ClusterState& state, Now now) {
  for (const WorkloadPtr& workload : workloads_affected_by(object, state, sources_)) put_workload(workload, state, now);
}

// A resource has quota now, and earlier requests of it could share the id of many names.
void SchedulerDriver::put_after_late_names(const ClusterState& state, Now now) {
  if (scheduler_->take_late_names()) put_all(state, now);
}

void SchedulerDriver::put_all(const ClusterState& state, Now now) {
  std::map<std::string, WorkloadPtr> workloads;
  for (const auto& [key, workload] : scheduler_->state().workloads) workloads.emplace(key, workload->object);
  for (const auto& [key, workload] : workloads) put_workload(workload, state, now);
}

// A withdrawn admission frees quota at once, so the scheduler decides again. A Workload that is admitted then
// could also be evicted at once. After some rounds this continues by writes to the API server.
void SchedulerDriver::decide(Now now, size_t enough, std::vector<ObjectKey>& keys) {
  revocations_left_ = kMostWithdrawals;
  do {
    revoked_ = false;
    scheduler_->await_ready(std::string(blocks_.first(now.monotonic)));
    for (scheduler::Decision& decision : scheduler_->drain(now, enough)) take(std::move(decision), now, keys);
  } while (revoked_);
  drop_void_refusals();
}

// Of a Workload that is in no queue that admits, the queue speaks (reconcilers/workload/workload_queues.h).
void SchedulerDriver::drop_void_refusals() {
  for (const std::string& path : scheduler_->take_left()) {
    const auto found = decisions_->find(path);
    if (found == decisions_->end() || !std::holds_alternative<Inadmissible>(found->second.decision)) continue;
    const auto [ns, name] = split_path(path);
    if (!scheduler::waits(scheduler_->state(), std::string(ns), std::string(name))) decisions_->erase(found);
  }
}

void SchedulerDriver::sent(const ObjectKey& key, Now now) {
  if (*key.type != kWorkloads) return;
  const auto found = decisions_->find(path_of(key.ns, key.name));
  if (found == decisions_->end()) return;
  found->second.sent = true;
  found->second.sent_at = now.monotonic;
}

void SchedulerDriver::take(scheduler::Decision decision, Now now, std::vector<ObjectKey>& keys) {
  std::visit(Overloaded{
                 [&](scheduler::Admitted& admitted) {
                   const ObjectMeta& meta = admitted.workload->meta;
                   keys.push_back(key_of(kWorkloads, meta));
                   if (blocks_admission(settings_)) blocks_.put(path_of(meta), {now.wall}, now);
                   decisions_->insert_or_assign(path_of(meta),
                                                Unpersisted{.decision = std::move(admitted), .made = now.monotonic});
                 },
                 [&](scheduler::Preempted& preempted) { take(std::move(preempted), now, keys); },
                 [](scheduler::AwaitedVictim&) {},
                 [&](scheduler::Pending& pending) {
                   if (pending.reason != scheduler::PendingReason::kNone) take(std::move(pending), now, keys);
                 },
             },
             decision);
}

// An admission that was never written needs no write for its withdrawal.
void SchedulerDriver::take(scheduler::Preempted preempted, Now now, std::vector<ObjectKey>& keys) {
  const ObjectMeta& meta = preempted.workload->meta;
  const std::string path = path_of(meta);
  const auto known = decisions_->find(path);
  if (known == decisions_->end() || !std::holds_alternative<scheduler::Admitted>(known->second.decision)) {
    keys.push_back(key_of(kWorkloads, meta));
    decisions_->insert_or_assign(path, Unpersisted{.decision = std::move(preempted)});
  } else if (known->second.sent || revocations_left_ == 0) {
    known->second.then = std::move(preempted);
  } else {
    --revocations_left_;
    revoked_ = true;
    blocks_.erase(path);
    decisions_->erase(known);
    scheduler_->roll_back(meta.ns, meta.name, now);
  }
}

// A reason is written when it has not changed for some time. A message with numbers that change all the time is
// written only now and then.
void SchedulerDriver::take(scheduler::Pending pending, Now now, std::vector<ObjectKey>& keys) {
  const ObjectMeta& meta = pending.workload->meta;
  const std::string path = path_of(meta);
  Unpersisted unpersisted{.decision = Inadmissible{.cluster_queue = std::move(pending.cluster_queue),
                                                   .reason = std::string(scheduler::to_text(pending.reason)),
                                                   .message = std::move(pending.message),
                                                   .since = now.monotonic,
                                                   .evaluated = pending.evaluated}};
  Inadmissible& refused = std::get<Inadmissible>(unpersisted.decision);
  const auto known = decisions_->find(path);
  const Inadmissible* before =
      known == decisions_->end() ? nullptr : std::get_if<Inadmissible>(&known->second.decision);
  if (before != nullptr) {
    refused.since = before->since;
    if (*before == refused) return;
    refused.since = now.monotonic;
    unpersisted.sent = known->second.sent && before->reason == refused.reason;
    unpersisted.sent_at = known->second.sent_at;
    if (unpersisted.sent) refused.since = std::max(now.monotonic, unpersisted.sent_at + kBetweenMessages);
  }
  keys.push_back(key_of(kWorkloads, meta));
  decisions_->insert_or_assign(path, std::move(unpersisted));
}

const PendingDecision* SchedulerDriver::pending_decision_on(std::string_view ns, std::string_view workload) const {
  const auto found = decisions_->find(path_of(ns, workload));
  return found == decisions_->end() ? nullptr : &found->second.decision;
}

std::optional<Duration> SchedulerDriver::unwritten_admission(std::string_view ns, std::string_view workload,
                                                             Now now) const {
  const auto found = decisions_->find(path_of(ns, workload));
  if (found == decisions_->end() || !std::holds_alternative<scheduler::Admitted>(found->second.decision))
    return std::nullopt;
  return now.monotonic - found->second.made;
}

bool SchedulerDriver::admits(const ObjectKey& key) const {
  if (*key.type != kWorkloads) return false;
  const PendingDecision* decision = pending_decision_on(key.ns, key.name);
  return decision != nullptr && std::holds_alternative<scheduler::Admitted>(*decision);
}

void SchedulerDriver::refuse(const ObjectKey& key, Now now) {
  if (*key.type != kWorkloads) return;
  const auto decision = decisions_->find(path_of(key.ns, key.name));
  if (decision == decisions_->end()) return;
  if (std::holds_alternative<scheduler::Admitted>(decision->second.decision)) blocks_.erase(decision->first);
  decisions_->erase(decision);
  scheduler_->roll_back(key.ns, key.name, now);
}

void SchedulerDriver::forget_unpersisted(Now now) {
  for (const auto& [path, unpersisted] : *decisions_) {
    if (std::holds_alternative<scheduler::Admitted>(unpersisted.decision)) blocks_.erase(path);
  }
  decisions_->clear();
  scheduler_->roll_back_all(now);
}

}  // namespace muster::state
