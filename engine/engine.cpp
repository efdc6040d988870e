#include "engine/engine.h"

#include <algorithm>
#include <iterator>

#include "api/meta/constants.h"
#include "api/watched_kinds.h"
#include "base/overloaded.h"
#include "jobs/job_kind.h"
#include "state/admissions.h"
#include "state/metrics/measurements.h"

namespace muster {
namespace {

// How long a name that a stranger's object has is not tried again.
constexpr Duration kTakenFor = std::chrono::seconds(30);
// A reconciler that asks for a time that has passed must not keep the engine busy.
constexpr Duration kShortestWait = std::chrono::milliseconds(100);

// What rules may ask about: namespaces, queues, and jobs as possible owners.
bool is_shown(const ResourceType& type) {
  for (const ResourceType* shown : {&kNamespaces, &kLimitRanges, &kLocalQueues, &kClusterQueues, &kAdmissionChecks,
                                    &kWorkloadPriorityClasses, &kJobs, &kJobSets}) {
    if (type.plural == shown->plural) return true;
  }
  return false;
}

std::vector<const ResourceType*> watched_types() {
  std::vector<const ResourceType*> types;
  for (const WatchedKind& kind : watched_kinds()) types.push_back(kind.type);
  return types;
}

// "workloads.kueue.x-k8s.io".
std::string name_of(const ResourceType& type) {
  return std::string(type.plural) + (type.group.empty() ? "" : "." + std::string(type.group));
}

// nullptr: not of the engine's.
const WatchedKind* find_kind(const ResourceType& type) {
  for (const WatchedKind& kind : watched_kinds()) {
    if (kind.type->plural == type.plural) return &kind;
  }
  return nullptr;
}

}  // namespace

Engine::Engine(EngineSettings settings, std::span<const Reconciler* const> table)
    : settings_(settings.reconcilers),
      reconcilers_(table),
      expected_kinds_(watched_kinds().size()),
      admissions_at_a_time_(settings.admissions_at_a_time),
      writes_at_a_time_(settings.writes_at_a_time),
      state_(settings_.queues),
      webhooks_(std::move(settings.webhooks), settings.keep_webhook_configurations, settings.webhook_write_interval),
      catch_up_(watched_types()),
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
                 [&](const KindAbsent& absent) { note_absent(*absent.type); },
                 [&](const ObjectChanged& changed) { put(changed.object, true, now); },
                 [&](const ObjectRemoved& removed) { remove(removed.object, now); },
                 [&](const CaBundleIssued& issued) { webhooks_.issue_bundle(issued.pem); },
                 [&](const WriteFinished& finished) { finish(finished, now); },
                 [&](const LeadershipChanged& changed) { lead(changed, now); },
                 [&](const KindCaughtUp& kind) { catch_up(kind, now); },
                 [](const Tick&) {},
             },
             event);
}

void Engine::concern(const TypedObject& object) {
  std::vector<ObjectKey> keys;
  for (const Reconciler* reconciler : reconcilers_) {
    try {
      reconciler->concerns(state_, object, keys);
    } catch (const std::exception& thrown) {
      set_aside(describe(key_of(object), Broke::kReconciling, reconciler->name, thrown));
    }
  }
  for (const ObjectKey& key : keys) lanes_.want(key);
}

void Engine::put(const TypedObject& object, bool watched, Now now) {
  const ObjectKey key = key_of(object);
  // Another version may be right.
  if (!quarantine_.holds(key, Broke::kState, meta_of(object).resource_version)) quarantine_.release(key, Broke::kState);
  if (!quarantine_.holds(key, Broke::kQuota, meta_of(object).resource_version)) quarantine_.release(key, Broke::kQuota);
  try {
    doing_ = Broke::kState;
    const Step step(watch_, "taking in", &key);
    put_unguarded(object, watched, now);
  } catch (const std::exception& thrown) {
    set_aside(describe(key, doing_, "taking in", thrown), meta_of(object).resource_version);
    recover(now);
  }
}

void Engine::put_unguarded(const TypedObject& object, bool watched, Now now) {
  if (WebhookKeeper::keeps(type_of(object), meta_of(object).name))
    return webhooks_.put(*std::get<PlainObjectPtr>(object));
  const auto change = watched ? state_.put_watched(object) : state_.put(object);
  if (!change) return;
  end_writes(unseen_.take_seen(object), now);
  if (change->before) note_ended_series(*change->before, state_, settings_.queues, measurements_);
  admit_to_quota(*change->after, now);
  show(object);
  note_unsupported(object);
  if (!leads_) return;
  if (change->before) concern(*change->before);
  concern(object);
}

void Engine::admit_to_quota(const TypedObject& object, Now now) {
  if (quarantine_.holds(key_of(object), Broke::kQuota, meta_of(object).resource_version)) return;
  doing_ = Broke::kQuota;
  state_.admissions().put(object, state_, now);
  doing_ = Broke::kState;
}

void Engine::show(const TypedObject& object) {
  if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    if (view_.note_workload(**workload, true)) published_ = nullptr;
  } else if (is_shown(type_of(object))) {
    view_.put_typed(object);
    published_ = nullptr;
  }
}

// Every replica counts; the leader tells the object's owner.
void Engine::note_unsupported(const TypedObject& object) {
  for (const Unsupported& news : unsupported_.put(key_of(object), unsupported_in(object, settings_))) {
    if (leads_) events_.push_back(event_about_unsupported(object, news));
  }
}

void Engine::remove(const TypedObject& object, Now now) {
  if (WebhookKeeper::keeps(type_of(object), meta_of(object).name)) return webhooks_.remove(key_of(object));
  if (auto removed = state_.remove_watched(object)) forget(*removed, now);
}

void Engine::forget(const TypedObject& removed, Now now) {
  const ObjectKey key = key_of(removed);
  if (!quarantine_.empty()) quarantine_.release(key);
  try {
    const Step step(watch_, "taking out", &key);
    forget_unguarded(removed, now);
  } catch (const std::exception& thrown) {
    set_aside(describe(key, Broke::kState, "taking out", thrown));
    recover(now);
  }
}

void Engine::forget_unguarded(const TypedObject& removed, Now now) {
  end_writes(unseen_.take_gone(removed), now);
  state_.admissions().remove(removed, state_, now);
  note_ended_series(removed, state_, settings_.queues, measurements_);
  unsupported_.remove(key_of(removed));
  const ObjectMeta& meta = meta_of(removed);
  const ResourceType& type = type_of(removed);
  if (const auto* workload = std::get_if<WorkloadPtr>(&removed)) {
    if (view_.note_workload(**workload, false)) published_ = nullptr;
  } else if (is_shown(type)) {
    view_.remove(type.api_version, type.kind, meta.ns, meta.name);
    published_ = nullptr;
  }
  if (leads_) concern(removed);
}

void Engine::replace(const KindListed& list, Now now) {
  if (WebhookKeeper::keeps(*list.type, list.name)) return webhooks_.relist(*list.type, list.name, list.objects);
  std::vector<ObjectKey> listed;
  for (const TypedObject& object : list.objects) {
    listed.push_back(key_of(object));
    put(object, true, now);
  }
  for (const TypedObject& gone : state_.drop_missing(*list.type, listed, list.version)) forget(gone, now);
  if (find_kind(*list.type) != nullptr) note_listed(*list.type);
}

void Engine::note_listed(const ResourceType& type) {
  synced_kinds_.insert(type.plural);
  missing_.erase(type.plural);
  if (unknown_.erase(type.plural) == 0 || !leads_) return;
  // What was left alone because of it.
  state_.for_each([this](const TypedObject& object) { concern(object); });
}

void Engine::note_absent(const ResourceType& type) {
  const WatchedKind* kind = find_kind(type);
  if (kind == nullptr) return;
  const bool had_objects = !state_.select(type, [](const TypedObject&) { return true; }).empty();
  if (!kind->optional || had_objects) {
    missing_.insert(kind->type->plural);
  } else if (synced_kinds_.insert(kind->type->plural).second) {
    unknown_.insert(kind->type->plural);
  }
}

std::vector<std::string> Engine::missing_kinds() const {
  std::vector<std::string> names;
  for (const WatchedKind& kind : watched_kinds()) {
    if (missing_.contains(kind.type->plural)) names.push_back(name_of(*kind.type));
  }
  return names;
}

std::vector<std::string> Engine::kinds_behind() const {
  std::vector<std::string> names;
  for (const ResourceType* kind : catch_up_.behind()) names.push_back(name_of(*kind));
  return names;
}

void Engine::catch_up(const KindCaughtUp& kind, Now now) {
  catch_up_.caught_up(*kind.type, kind.term);
  if (caught_up_ == catch_up_.done()) return;
  caught_up_ = !caught_up_;
  // While it waited it followed, so the scheduler has forgotten again what it owes to whom.
  if (leads_) state_.admissions().forget_unwritten(now);
}

// Whether its owner is of a kind that is not served and may yet be there: the Workload of such
// an owner, and the children of one whose Workload is admitted, are left as they are.
bool Engine::rests_on_unknown(const ObjectKey& key) const {
  if (unknown_.empty()) return false;
  const TypedObject* object = state_.find(*key.type, key.ns, key.name);
  if (object == nullptr || !meta_of(*object).controller) return false;
  const OwnerReference& owner = *meta_of(*object).controller;
  const JobKind* kind = find_owner_kind(owner, settings_.queues.rules);
  if (kind == nullptr || !unknown_.contains(kind->type.plural)) return false;
  if (std::holds_alternative<WorkloadPtr>(*object)) return true;
  const auto workloads = state_.workloads_of_owner(owner.uid);
  return std::any_of(workloads.begin(), workloads.end(),
                     [&](const Workload* workload) { return workload->meta.ns == key.ns && workload->admitted(); });
}

// Who begins to lead owes every object a look; whoever ends forgets what was planned.
// Writes under way are finished by their answers in either case.
void Engine::lead(const LeadershipChanged& changed, Now now) {
  if (changed.leads) {
    catch_up_.await(changed.term);
    caught_up_ = catch_up_.done();
  }
  if (changed.leads == leads_) return;
  leads_ = changed.leads;
  state_.admissions().forget_unwritten(now);
  lanes_.clear();
  unseen_.clear();
  clocks_.clear();
  late_writes_.clear();
  for (const auto& [id, write] : under_way_) {
    if (write.lane) lanes_.write_started(*write.lane);
  }
  if (!leads_) return;
  state_.for_each([this](const TypedObject& object) { concern(object); });
  unsupported_.for_each([this](const ObjectKey& key, const Unsupported& unsupported) {
    const TypedObject* object = state_.find(*key.type, key.ns, key.name);
    if (object != nullptr) events_.push_back(event_about_unsupported(*object, unsupported));
  });
}

void Engine::finish(const WriteFinished& finished, Now now) {
  const auto found = under_way_.find(finished.id);
  if (found == under_way_.end()) return;
  UnderWay write = std::move(found->second);
  under_way_.erase(found);
  if (write.admits) --admissions_under_way_;
  if (!write.lane) return webhooks_.write_finished(write.target);
  take_answer(write, finished, now);
  if (finished.outcome == WriteOutcome::kDone && write.rest > Duration::zero())
    lanes_.rest(*write.lane, now.monotonic + write.rest);
  if (finished.outcome == WriteOutcome::kDone && !shows(write.target, finished.version))
    return unseen_.add(write.target, finished.version, *write.lane);
  lanes_.write_finished(*write.lane, result_of(write, finished), now.monotonic);
}

void Engine::end_writes(const std::vector<ObjectKey>& lanes, Now now) {
  for (const ObjectKey& lane : lanes) lanes_.write_finished(lane, Lanes::Result::kDone, now.monotonic);
}

// Also where the object has gone, and with it all that was written.
bool Engine::shows(const ObjectKey& target, uint64_t version) const {
  const TypedObject* known = state_.find(*target.type, target.ns, target.name);
  return known == nullptr || meta_of(*known).resource_version >= version;
}

// That a name is taken or an object gone is an answer to act on at once, not trouble to
// wait out: one pod that vanishes must not hold up the release of a gang. And what the
// watch has shown before the answer came will not be shown again.
Lanes::Result Engine::result_of(const UnderWay& write, const WriteFinished& finished) const {
  if (only_it_waits(write, finished)) return Lanes::Result::kDone;
  switch (finished.outcome) {
    case WriteOutcome::kDone:
    case WriteOutcome::kAlreadyExists:
      return Lanes::Result::kDone;
    case WriteOutcome::kNotFound:
      return write.verb == Verb::kCreate ? Lanes::Result::kFailed : Lanes::Result::kDone;
    case WriteOutcome::kConflict: {
      const TypedObject* known = state_.find(*write.target.type, write.target.ns, write.target.name);
      const bool outdated = known != nullptr && meta_of(*known).resource_version == write.version;
      return outdated ? Lanes::Result::kOutdated : Lanes::Result::kFailed;
    }
    case WriteOutcome::kRefused:
    case WriteOutcome::kFailed:
      break;
  }
  return Lanes::Result::kFailed;
}

// Takes the write's events and measurements with it.
void Engine::take_answer(UnderWay& write, const WriteFinished& finished, Now now) {
  const ObjectKey& target = write.target;
  const bool done = finished.outcome == WriteOutcome::kDone;
  if (done) {
    std::move(write.events.begin(), write.events.end(), std::back_inserter(events_));
    for (Measurement& measurement : write.measurements) measure(std::move(measurement));
    std::move(write.decisions.begin(), write.decisions.end(), std::back_inserter(decisions_));
    if (write.verb == Verb::kCreate) state_.forget_rejection(*write.lane, target);
  } else if (write.refusal && !finished.why.empty()) {
    take_refusal(write, finished, now);
  }
  if (done && finished.object) return put(*finished.object, false, now);
  if (finished.outcome == WriteOutcome::kRefused && write.verb == Verb::kPatchStatus)
    state_.admissions().refuse(target, now);
  if (finished.outcome == WriteOutcome::kAlreadyExists) {
    if (state_.find(*target.type, target.ns, target.name) != nullptr) return;
    state_.note_taken(target, now.monotonic + kTakenFor);
    blocked_.put(*write.lane, now.monotonic + kTakenFor);
  }
  const bool gone = finished.outcome == WriteOutcome::kNotFound && write.verb != Verb::kCreate;
  if (!gone && !(done && write.verb == Verb::kDelete)) return;
  const TypedObject* known = state_.find(*target.type, target.ns, target.name);
  if (known == nullptr || (!write.uid.empty() && meta_of(*known).uid != write.uid)) return;
  if (auto removed = state_.remove(target)) forget(*removed, now);
}

bool Engine::only_it_waits(const UnderWay& write, const WriteFinished& finished) {
  return write.waits_alone && !finished.why.empty() && finished.outcome != WriteOutcome::kDone;
}

// What the API server, a quota of Kubernetes or a policy says to a create: its user's business. The
// write is tried again after a growing delay; the recorder makes one series of repeated events.
void Engine::take_refusal(UnderWay& write, const WriteFinished& finished, Now now) {
  state_.note_rejection(*write.lane, write.target, finished.why);
  if (only_it_waits(write, finished)) state_.note_refused(write.target, now.monotonic);
  ObjectEvent event = *std::move(write.refusal);
  event.note += finished.why;
  events_.push_back(std::move(event));
}

Commands Engine::plan(Now now) {
  Commands commands;
  try {
    for (Write& write : webhooks_.plan(synced() ? &view_ : nullptr, now)) add(commands, std::nullopt, std::move(write));
  } catch (const std::exception& thrown) {
    set_aside(describe(std::nullopt, Broke::kReconciling, "keeping the webhook configurations", thrown));
  }
  commands.breakages = std::exchange(breakages_, {});
  // Half a picture would make half of the right decisions.
  if (!is_whole()) return commands;
  decide(now);
  if (may_plan()) {
    for (const ObjectKey& key : lanes_.take_due(now.monotonic, room())) reconcile(key, commands, now);
  }
  std::move(breakages_.begin(), breakages_.end(), std::back_inserter(commands.breakages));
  breakages_.clear();
  commands.events = std::move(events_);
  events_.clear();
  commands.measurements = std::exchange(measurements_, {});
  commands.decisions = std::exchange(decisions_, {});
  commands.unsupported = unsupported_.take_first();
  return commands;
}

void Engine::add(Commands& commands, std::optional<ObjectKey> lane, Write write) {
  const uint64_t id = ++last_id_;
  if (lane) lanes_.write_started(*lane);
  const bool needs_leadership = lane.has_value();
  const bool admits = lane && is_to_be_admitted(*lane);
  if (admits) ++admissions_under_way_;
  const TypedObject* target = state_.find(*write.target.type, write.target.ns, write.target.name);
  under_way_.emplace(
      id, UnderWay{std::move(lane), write.verb, write.target, write.uid,
                   target == nullptr ? 0 : meta_of(*target).resource_version, std::exchange(write.events, {}),
                   std::exchange(write.measurements, {}), std::exchange(write.decisions, {}),
                   std::exchange(write.refusal, std::nullopt), write.waits_alone, write.rest, admits});
  commands.writes.push_back({id, std::move(write), needs_leadership});
}

void Engine::measure(Measurement measurement) {
  complete(measurement, state_, settings_.queues);
  measurements_.push_back(std::move(measurement));
}

bool Engine::is_to_be_admitted(const ObjectKey& workload) const {
  if (workload.type->plural != kWorkloads.plural) return false;
  const Ruling* ruling = state_.admissions().ruling_on(workload.ns, workload.name);
  return ruling != nullptr && std::holds_alternative<Admitted>(*ruling);
}

void Engine::schedule(Now now) {
  Admissions& admissions = state_.admissions();
  const uint64_t turns = admissions.scheduler().turns();
  std::vector<ObjectKey> decided;
  const size_t room = admissions_at_a_time_ - std::min(admissions_at_a_time_, admissions_under_way_);
  admissions.decide(now, room, decided);
  bool any = false;
  for (const ObjectKey& key : decided) {
    any = any || is_to_be_admitted(key);
    lanes_.want(key);
  }
  if (admissions.scheduler().turns() == turns) return;
  measure({.what = Measured::kAdmissionAttempt, .reason = any ? kAttemptSuccess : kAttemptInadmissible});
}

bool Engine::may_write(const ObjectKey& key, const Plan& plan, Now now) {
  const bool late = std::all_of(plan.writes.begin(), plan.writes.end(),
                                [](const Write& write) { return write.rest > Duration::zero(); });
  const MonotonicTime turn = late ? late_writes_.turn_of(key, now.monotonic) : now.monotonic;
  if (turn <= now.monotonic) return true;
  lanes_.rest(key, turn);
  lanes_.want(key);
  return false;
}

// One reconciler's writes at a time: the next one shall see what came of them.
void Engine::reconcile(const ObjectKey& key, Commands& commands, Now wall_now) {
  // Their deadlines count from muster's own stamps; those of gangs from the kubelets', which
  // have clocks of their own.
  const bool is_workload = key.type->plural == kWorkloads.plural;
  const Now now = is_workload ? clocks_.time_for(key, wall_now) : wall_now;
  bool waits = false;
  if (const auto blocked_until = blocked_.until(key)) {
    if (now.monotonic < *blocked_until)
      lanes_.want_at(key, *blocked_until);
    else
      blocked_.erase(key);
  }
  if (rests_on_unknown(key)) return;
  bool broke = false;
  const Step step(watch_, "reconciling", &key);
  for (const Reconciler* reconciler : reconcilers_) {
    Plan plan;
    try {
      plan = reconciler->reconcile(key, state_, settings_, now);
    } catch (const std::exception& thrown) {
      broke = true;
      set_aside(describe(key, Broke::kReconciling, reconciler->name, thrown));
      continue;
    }
    events_.insert(events_.end(), plan.events.begin(), plan.events.end());
    if (plan.again_at) {
      waits = true;
      const Duration wait = std::max<Duration>(*plan.again_at - now.wall, kShortestWait);
      lanes_.want_at(key, now.monotonic + wait);
    }
    if (plan.writes.empty()) continue;
    if (!may_write(key, plan, now)) break;
    for (Write& write : plan.writes) add(commands, key, std::move(write));
    if (is_workload) state_.admissions().sent(key, now);
    break;
  }
  if (!broke) quarantine_.release(key, Broke::kReconciling);
  if (is_workload) clocks_.note(key, waits, now);
}

ClusterViewPtr Engine::view() const {
  if (!published_) published_ = std::make_shared<const ClusterView>(view_);
  return published_;
}

// When the scheduler wants to decide although nothing has happened, and can.
std::optional<MonotonicTime> Engine::next_decision() const {
  if (!leads_ || !is_whole()) return std::nullopt;
  std::optional<MonotonicTime> wake = state_.admissions().scheduler().next_wake();
  if (!wake) return std::nullopt;
  if (awaits_admissions_until_) wake = std::max(*wake, *awaits_admissions_until_);
  return std::max(*wake, scheduler_rests_until_);
}

std::optional<MonotonicTime> Engine::next_tick() const {
  std::optional<MonotonicTime> tick = webhooks_.next_tick();
  const std::optional<MonotonicTime> lane = may_plan() && room() > 0 ? lanes_.next() : std::nullopt;
  if (!tick || (lane && *lane < *tick)) tick = lane;
  if (scheduler_rests_until_ != MonotonicTime{} && (!tick || scheduler_rests_until_ < *tick))
    tick = scheduler_rests_until_;
  if (const auto wake = next_decision(); wake && (!tick || *wake < *tick)) tick = wake;
  return tick;
}

}  // namespace muster
