#include "engine/engine.h"

#include <algorithm>
#include <iterator>

#include "api/meta/constants.h"
#include "api/workload.h"
#include "base/overloaded.h"
#include "jobs/job_kind.h"
#include "jobs/kept/kept_object.h"
#include "reconcilers/checks/check_answers.h"
#include "scheduler/eligibility.h"
#include "scheduler/scheduler.h"
#include "state/index/indexes.h"
#include "state/metrics/measurements.h"

namespace muster::engine {
namespace {

// A reconciler that asks for a time that has passed must not keep the engine busy.
constexpr Duration kShortestWait = std::chrono::milliseconds(100);

bool is_any(const TypedObject&) {
  return true;
}

}  // namespace

Engine::Engine(EngineSettings settings, std::span<const reconcilers::Reconciler* const> table)
    : settings_(settings.reconcilers),
      reconcilers_(table),
      check_controllers_(settings.check_controllers),
      state_(settings_.queues),
      scheduler_feed_(state_, settings_.queues),
      webhooks_(std::move(settings.webhooks), settings.keep_webhook_configurations, settings.webhook_write_interval),
      under_way_(settings.admissions_at_a_time, settings.writes_at_a_time),
      resource_seconds_(settings_.queues.rules.enabled(Gate::kReclaimablePods)),
      seen_writes_(expectations_, work_queue_),
      ended_series_(state_, settings_.queues, measurements_),
      used_seconds_(state_, resource_seconds_),
      unsupported_news_(unsupported_, settings_, leads_, events_),
      request_mapper_(leads_, [this](const TypedObject& object) { enqueue_requests(object); }),
      observers_{&seen_writes_, &ended_series_,     &used_seconds_,  &scheduler_feed_,
                 &view_,        &unsupported_news_, &request_mapper_},
      watch_(settings.watch) {}

void Engine::apply(const Event& event, Now now) {
  try {
    take_in(event, now);
  } catch (const std::exception& thrown) {
    set_aside(describe(std::nullopt, Broke::kState, "taking in an event", thrown));
    recover(now);
  }
}

void Engine::take_in(const Event& event, Now now) {
  std::visit(Overloaded{
                 [&](const KindListed& list) { replace(list, now); },
                 [&](const KindAbsent& absent) {
                   kinds_.note_absent(*absent.type, !state_.select(*absent.type, is_any).empty());
                 },
                 [&](const ObjectChanged& changed) { put(changed.object, true, now); },
                 [&](const ObjectRemoved& removed) { remove(removed.object, now); },
                 [&](const CaBundleIssued& issued) { webhooks_.issue_bundle(issued.pem); },
                 [&](const WriteFinished& finished) { finish(finished, now); },
                 [&](const LeadershipChanged& changed) { lead(changed, now); },
                 [&](const KindCaughtUp& kind) { catch_up(kind, now); },
                 [&](const NodesObserved& observed) { scheduler_feed_.take(observed.news); },
                 [](const Tick&) {},
             },
             event);
}

void Engine::enqueue_requests(const TypedObject& object) {
  std::vector<ObjectKey> keys;
  for (const reconcilers::Reconciler* reconciler : reconcilers_) {
    try {
      reconciler->requests_for(state_, object, keys);
    } catch (const std::exception& thrown) {
      set_aside(describe(key_of(object), Broke::kReconciling, reconciler->name, thrown));
    }
  }
  try {
    reconcilers::add_check_requests(check_controllers_, state_, object, keys);
  } catch (const std::exception& thrown) {
    set_aside(describe(key_of(object), Broke::kReconciling, "check controllers", thrown));
  }
  for (const ObjectKey& key : keys) work_queue_.enqueue(key);
}

void Engine::put(const TypedObject& object, bool watched, Now now) {
  const ObjectKey key = key_of(object);
  // Another version can be right.
  if (!quarantine_.holds(key, Broke::kState, meta_of(object).resource_version)) quarantine_.release(key, Broke::kState);
  if (!quarantine_.holds(key, Broke::kQuota, meta_of(object).resource_version)) quarantine_.release(key, Broke::kQuota);
  try {
    doing_ = Broke::kState;
    const WatchedStep step(watch_, "taking in", &key);
    put_unguarded(object, watched, now);
  } catch (const std::exception& thrown) {
    set_aside(describe(key, doing_, "taking in", thrown), meta_of(object).resource_version);
    recover(now);
  }
}

void Engine::put_unguarded(const TypedObject& object, bool watched, Now now) {
  if (reconcilers::WebhookConfigReconciler::keeps(type_of(object), meta_of(object).name))
    return webhooks_.put(*std::get<PlainObjectPtr>(object));
  // An answer to a write has the whole object, and so has a recording.
  const TypedObject kept = jobs::kept_of(object, settings_);
  const auto change = watched ? state_.put_watched(kept) : state_.put(kept);
  if (!change) return;
  for (Observer* observer : observers_) {
    if (is_kept_from(*observer, *change->after)) continue;
    doing_ = observer->part();
    observer->put(*change, now);
  }
}

bool Engine::is_kept_from(const Observer& observer, const TypedObject& object) const {
  return observer.part() == Broke::kQuota &&
         quarantine_.holds(key_of(object), Broke::kQuota, meta_of(object).resource_version);
}

void Engine::remove(const TypedObject& object, Now now) {
  if (reconcilers::WebhookConfigReconciler::keeps(type_of(object), meta_of(object).name))
    return webhooks_.remove(key_of(object));
  if (auto removed = state_.remove_watched(object)) forget(*removed, now);
}

void Engine::forget(const TypedObject& removed, Now now) {
  const ObjectKey key = key_of(removed);
  if (!quarantine_.empty()) quarantine_.release(key);
  try {
    const WatchedStep step(watch_, "taking out", &key);
    for (Observer* observer : observers_) observer->remove(removed, now);
  } catch (const std::exception& thrown) {
    set_aside(describe(key, Broke::kState, "taking out", thrown));
    recover(now);
  }
}

void Engine::replace(const KindListed& list, Now now) {
  if (reconcilers::WebhookConfigReconciler::keeps(*list.type, list.name))
    return webhooks_.relist(*list.type, list.name, list.objects);
  std::vector<ObjectKey> listed;
  for (const TypedObject& object : list.objects) {
    listed.push_back(key_of(object));
    put(object, true, now);
  }
  for (const TypedObject& gone : state_.drop_missing(*list.type, listed, list.version)) forget(gone, now);
  // Objects that were skipped because the kind was unknown.
  if (kinds_.note_listed(*list.type) && leads_)
    state_.for_each([this](const TypedObject& each) { enqueue_requests(each); });
}

// A new leader reconciles every object; a replica that stops leading forgets its plans.
// Writes under way are finished by their answers in either case.
void Engine::lead(const LeadershipChanged& changed, Now now) {
  if (changed.leads) {
    kinds_.await(changed.term);
    scheduler_feed_.await_nodes(changed.term);
  }
  if (changed.leads == leads_) return;
  leads_ = changed.leads;
  if (leads_)
    resource_seconds_.begin(now.monotonic);
  else
    resource_seconds_.end(std::min(now.monotonic, changed.until.value_or(now.monotonic)));
  scheduler_feed_.driver().forget_unpersisted(now);
  work_queue_.clear();
  expectations_.clear();
  clocks_.clear();
  deferrable_writes_.clear();
  giving_way_.clear();
  state_.writes().pauses().clear();
  for (const ObjectKey& request : under_way_.requests()) work_queue_.write_started(request);
  if (!leads_) return;
  state_.for_each([this](const TypedObject& object) { enqueue_requests(object); });
  unsupported_.for_each([this](const ObjectKey& key, const state::Unsupported& unsupported) {
    const TypedObject* object = state_.find(*key.type, key.ns, key.name);
    if (object != nullptr) events_.push_back(event_about_unsupported(*object, unsupported));
  });
}

void Engine::catch_up(const KindCaughtUp& kind, Now now) {
  // While it waited, this replica acted as a follower, so the scheduler has forgotten its unwritten decisions
  // again.
  if (kinds_.note_caught_up(*kind.type, kind.term) && leads_) scheduler_feed_.driver().forget_unpersisted(now);
}

// Whether its owner is of a kind that is not served, so that the owner can still exist. The engine does not
// change the Workload of such an owner, or the children of such an owner whose Workload is admitted.
bool Engine::rests_on_unknown(const ObjectKey& key) const {
  if (!kinds_.any_unknown()) return false;
  const TypedObject* object = state_.find(*key.type, key.ns, key.name);
  if (object == nullptr || !meta_of(*object).controller) return false;
  const OwnerReference& owner = *meta_of(*object).controller;
  const jobs::JobKind* kind = jobs::find_owner_kind(owner, settings_.queues.rules);
  if (kind == nullptr || !kinds_.unknown(kind->type)) return false;
  if (std::holds_alternative<WorkloadPtr>(*object)) return true;
  const auto workloads = state_.by(state::kWorkloadsByOwner, {"", owner.uid});
  return std::any_of(workloads.begin(), workloads.end(),
                     [&](const Workload* workload) { return workload->meta.ns == key.ns && workload->admitted(); });
}

Commands Engine::plan(Now now) {
  Commands commands;
  try {
    for (reconcilers::Write& write : webhooks_.plan(kinds_.synced() ? &view_.latest() : nullptr, now))
      add(commands, std::nullopt, std::move(write), now);
  } catch (const std::exception& thrown) {
    set_aside(describe(std::nullopt, Broke::kReconciling, "keeping the webhook configurations", thrown));
  }
  commands.breakages = std::exchange(breakages_, {});
  // Half a picture would make half of the right decisions.
  if (!kinds_.whole()) return commands;
  decide(now);
  if (may_plan()) {
    for (const ObjectKey& key : giving_way_.take_turns(now.monotonic)) work_queue_.enqueue(key);
    for (const ObjectKey& key : state_.writes().pauses().take_turns(now.monotonic)) work_queue_.enqueue(key);
    for (const ObjectKey& key : take_ready_keys(now)) reconcile(key, commands, now);
  }
  std::move(breakages_.begin(), breakages_.end(), std::back_inserter(commands.breakages));
  breakages_.clear();
  commands.events = std::move(events_);
  events_.clear();
  commands.measurements = std::exchange(measurements_, {});
  commands.decisions = std::exchange(logged_decisions_, {});
  commands.unsupported = unsupported_.take_first();
  return commands;
}

// The writes of one namespace, however many, do not hold up the plans of another one.
std::vector<ObjectKey> Engine::take_ready_keys(Now now) {
  const size_t room = under_way_.room();
  return work_queue_.take_ready(now.monotonic, [&](const WorkQueue::Taken& taken) {
    return taken.in_all < room || under_way_.has_share(taken.ns, taken.of_namespace);
  });
}

void Engine::add(Commands& commands, std::optional<ObjectKey> request, reconcilers::Write write, Now now) {
  const bool needs_leadership = request.has_value();
  if (request) work_queue_.write_started(*request);
  if (write.gives_way) giving_way_.started();
  const bool admits = request && scheduler_feed_.driver().admits(*request);
  const uint64_t id =
      under_way_.start(under_way(std::move(request), write, version_of(write.target), admits, now.monotonic));
  commands.writes.push_back({id, std::move(write), needs_leadership});
}

void Engine::measure(Measurement measurement) {
  state::complete(measurement, state_, settings_.queues);
  measurements_.push_back(std::move(measurement));
}

void Engine::schedule(Now now) {
  state::SchedulerDriver& driver = scheduler_feed_.driver();
  const uint64_t turns = driver.scheduler().turns();
  std::vector<ObjectKey> decided;
  driver.decide(now, under_way_.room_for_admissions(), decided);
  bool any = false;
  for (const ObjectKey& key : decided) {
    any = any || driver.admits(key);
    work_queue_.enqueue(key);
  }
  if (driver.scheduler().turns() == turns) return;
  measure({.what = Measured::kAdmissionAttempt, .reason = any ? kAttemptSuccess : kAttemptInadmissible});
}

bool Engine::queue_writes_that_give_way(const ObjectKey& key, const reconcilers::Plan& plan, Now now) {
  return std::all_of(plan.writes.begin(), plan.writes.end(),
                     [](const reconcilers::Write& write) { return write.gives_way; }) &&
         !giving_way_.go_or_queue(key, now.monotonic);
}

bool Engine::defer_deferrable_writes(const ObjectKey& key, const reconcilers::Plan& plan, Now now) {
  const bool late = std::all_of(plan.writes.begin(), plan.writes.end(),
                                [](const reconcilers::Write& write) { return write.rest > Duration::zero(); });
  const MonotonicTime turn = late ? deferrable_writes_.ready_at(key, now.monotonic) : now.monotonic;
  if (turn <= now.monotonic) return false;
  work_queue_.hold_until(key, turn);
  work_queue_.enqueue(key);
  return true;
}

void Engine::hold_paused_writes(const ObjectKey& key, reconcilers::Plan& plan, Now now) {
  state::WritePauses& pauses = state_.writes().pauses();
  std::optional<MonotonicTime> again;
  std::erase_if(plan.writes, [&](const reconcilers::Write& write) {
    if (!write.maker) return false;
    const auto turn = write.verb == reconcilers::Verb::kDelete ? pauses.ask_to_delete(*write.maker, now.monotonic)
                                                               : pauses.ask_to_create(*write.maker, key, now.monotonic);
    if (turn.again && (!again || *turn.again < *again)) again = turn.again;
    return !turn.granted;
  });
  if (again) work_queue_.enqueue_at(key, *again);
}

// One reconciler's writes at a time: the next one shall see what came of them.
void Engine::reconcile(const ObjectKey& key, Commands& commands, Now wall_now) {
  const Now now = clocks_.time_for(key, wall_now);
  bool waits = false;
  if (const auto blocked_until = blocked_.until(key)) {
    if (now.monotonic < *blocked_until)
      work_queue_.enqueue_at(key, *blocked_until);
    else
      blocked_.erase(key);
  }
  if (rests_on_unknown(key)) return;
  bool broke = false;
  const WatchedStep step(watch_, "reconciling", &key);
  const reconcilers::ReconcileContext context{state_, scheduler_feed_.driver(), settings_,
                                              now,    check_controllers_,       &kinds_.all_unknown()};
  state_.writes().pauses().begin_round();
  for (const reconcilers::Reconciler* reconciler : reconcilers_) {
    if (!reconciler->handles(*key.type)) continue;
    reconcilers::Plan plan;
    try {
      plan = reconciler->reconcile(key, context);
    } catch (const std::exception& thrown) {
      broke = true;
      set_aside(describe(key, Broke::kReconciling, reconciler->name, thrown));
      continue;
    }
    events_.insert(events_.end(), plan.events.begin(), plan.events.end());
    if (plan.again_at) {
      waits = true;
      const Duration wait = std::max<Duration>(*plan.again_at - now.wall, kShortestWait);
      work_queue_.enqueue_at(key, now.monotonic + wait);
    }
    // An event that is reported later does not hold up the other reconcilers.
    if (plan.writes.empty() || queue_writes_that_give_way(key, plan, wall_now)) continue;
    if (defer_deferrable_writes(key, plan, now)) break;
    hold_paused_writes(key, plan, wall_now);
    if (plan.writes.empty()) continue;
    for (reconcilers::Write& write : plan.writes) add(commands, key, std::move(write), wall_now);
    scheduler_feed_.driver().sent(key, now);
    break;
  }
  if (!broke) quarantine_.release(key, Broke::kReconciling);
  clocks_.note(key, waits, now);
}

// When the scheduler wants to decide although nothing has happened, and can.
std::optional<MonotonicTime> Engine::next_decision() const {
  if (!may_plan()) return std::nullopt;
  const std::optional<MonotonicTime> wake = scheduler_feed_.driver().next_wake();
  return wake ? std::optional(scheduler_rest_.not_before(*wake)) : std::nullopt;
}

std::optional<MonotonicTime> Engine::next_tick() const {
  std::optional<MonotonicTime> tick = webhooks_.next_tick();
  const bool has_room = under_way_.room() > 0;
  for (const auto& next : {has_room ? work_queue_.next() : work_queue_.next_timer(), giving_way_.next(),
                           state_.writes().pauses().next()}) {
    if (may_plan() && next && (!tick || *next < *tick)) tick = next;
  }
  for (const auto& next : {scheduler_rest_.ends(), next_decision()}) {
    if (next && (!tick || *next < *tick)) tick = next;
  }
  return tick;
}

}  // namespace muster::engine
