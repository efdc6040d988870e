// The course of one job, except for the decisions of the product's reconcilers.
#include <algorithm>
#include <limits>

#include "api/requests.h"
#include "forecast/chance.h"
#include "forecast/runner.h"
#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/pods_ready.h"
#include "reconcilers/workload/workload.h"
#include "reconcilers/workload/workload_editor.h"
#include "state/queues_of.h"

namespace muster::forecast {
namespace {

// Limit of passes over one Workload in one moment; each pass changes something.
constexpr int kMostPasses = 32;
// Later than any time of a simulation.
constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

}  // namespace

WorkloadPtr Runner::made(const Arrival& arrival) const {
  const JobShape& shape = scenario_.shapes[arrival.shape];
  Workload workload = *shape.workload;
  if (arrival.serial != 0) {
    const std::string serial = "-" + std::to_string(arrival.serial);
    workload.meta.name += serial;
    workload.meta.uid += serial;
  }
  if (workload.meta.created.is_zero()) workload.meta.created = stamp();
  return std::make_shared<const Workload>(std::move(workload));
}

void Runner::come(uint32_t job) {
  const Arrival& arrival = scenario_.arrivals[job];
  auto live = std::make_unique<Live>();
  live->left = arrival.run_time;
  live->workload = arrival.stored ? arrival.stored : made(arrival);
  history_.jobs[job].fate = Fate::kWaiting;
  history_.usage.add_pending(elapsed_, 1);
  by_path_.emplace(path_of(live->workload->meta), job);
  Live& submitted = *live;
  live_.emplace(job, std::move(live));
  put(job, submitted, Workload(*submitted.workload));
}

void Runner::put(uint32_t job, Live& live, Workload workload) {
  workload.meta.resource_version = ++version_;
  const WorkloadPtr before = live.workload;
  live.workload = std::make_shared<const Workload>(std::move(workload));
  if (const auto change = state_.put_watched(live.workload)) decisions_.put(*change->after, state_, now());
  note_eviction(job, *before, *live.workload);
  note_quota(live);
  changed_.push_back(job);
}

void Runner::put_status(uint32_t job, Live& live, WorkloadStatus status) {
  Workload workload = *live.workload;
  workload.status = std::move(status);
  put(job, live, std::move(workload));
}

bool Runner::pass(uint32_t job, Live& live) {
  const reconcilers::WorkloadPass passed = reconcilers::pass_over(*live.workload, context());
  if (passed.again_at) {
    const int64_t at = std::max((*passed.again_at - scenario_.start).count(), elapsed_ + 1);
    if (live.wake_at != at) {
      live.wake_at = at;
      timetable_.plan(at, job, live.epoch, Due::kWake);
    }
  }
  if (!passed.status && !passed.deactivates) return false;
  Workload workload = *live.workload;
  if (passed.status) workload.status = *passed.status;
  if (passed.deactivates) workload.active = false;
  put(job, live, std::move(workload));
  return true;
}

void Runner::advance(uint32_t job) {
  const auto found = live_.find(job);
  if (found == live_.end()) return;
  Live& live = *found->second;
  for (int i = 0; i < kMostPasses && pass(job, live); ++i) {
  }
  const Workload& workload = *live.workload;
  if (workload.evicted()) {
    if (workload.has_quota_reserved()) return stop(job, live);
    if (!workload.active) return forget(job, Fate::kDeactivated);
    return;
  }
  if (!workload.active && !workload.has_quota_reserved()) return forget(job, Fate::kDeactivated);
  if (workload.admitted() && !live.running) return start(job, live);
  if (workload.has_quota_reserved() && !workload.admitted() && !live.checking) await_checks(job, live);
}

bool Runner::awaits_pods(const Workload& workload) const {
  return scenario_.settings.queues.wait_for_pods_ready.has_value() ||
         reconcilers::tracks_flavors(workload, state::queues_of(workload, state_).cluster);
}

// A number that depends only on the seed, the job and the attempt: other events do not change it.
bool Runner::fails(uint32_t job, const JobRecord& record, const std::vector<std::string>& flavors) const {
  double odds = 0;
  for (const std::string& flavor : flavors) {
    const auto traits = scenario_.flavors.find(flavor);
    if (traits != scenario_.flavors.end()) odds = std::max(odds, traits->second.failure_odds);
  }
  if (odds <= 0) return false;
  return Chance(scenario_.seed, (uint64_t{job} << 16) | record.starts).share() < odds;
}

void Runner::start(uint32_t job, Live& live) {
  JobRecord& record = history_.jobs[job];
  const std::vector<std::string> flavors = assigned_flavors(*live.workload->status.admission);
  ++live.epoch;
  live.running = true;
  live.checking = false;
  if (record.first_start == kNever) record.first_start = elapsed_;
  record.flavors = flavor_set(flavors);
  live.stay = history_.stays.size();
  history_.stays.push_back({.job = job, .flavors = record.flavors, .from = elapsed_});
  live.fails = fails(job, record, flavors);
  ++record.starts;
  live.started = kFar;
  bool placed = places_.enter(job, *live.workload, elapsed_);
  if (!placed && live.workload->is_true(kPodsReadyCondition)) {
    elsewhere_ += places_.drop_waiting(job, elapsed_);
    placed = true;
  }
  if (placed) run_pods(job, live);
}

void Runner::run_pods(uint32_t job, Live& live) {
  JobRecord& record = history_.jobs[job];
  history_.stays[live.stay].placed = elapsed_;
  if (record.first_placed == kNever) record.first_placed = elapsed_;
  const bool ready_already = live.workload->is_true(kPodsReadyCondition);
  Duration startup{};
  for (const std::string& flavor : assigned_flavors(*live.workload->status.admission)) {
    const auto traits = scenario_.flavors.find(flavor);
    if (traits != scenario_.flavors.end() && !ready_already) startup = std::max(startup, traits->second.startup);
  }
  live.started = elapsed_ + startup.count();
  if (live.fails) return;
  if (awaits_pods(*live.workload) && !ready_already) timetable_.plan(live.started, job, live.epoch, Due::kReady);
  if (live.left) timetable_.plan(live.started + live.left->count(), job, live.epoch, Due::kEnd);
}

void Runner::fill_nodes() {
  for (const uint32_t job : places_.fill(elapsed_)) {
    run_pods(job, *live_.at(job));
  }
}

void Runner::get_ready(uint32_t job, Live& live) {
  const reconcilers::PodsReady ready = reconcilers::pods_ready_after(*live.workload, true);
  reconcilers::WorkloadEditor editor(*live.workload, context(), reconcilers::Stamp::kExact);
  editor.set_pods_ready(ready.is_true, ready.reason, ready.message);
  put_status(job, live, std::move(editor.status));
}

void Runner::await_checks(uint32_t job, Live& live) {
  Duration longest{};
  bool any = false;
  for (const AdmissionCheckState& check : live.workload->status.admission_checks) {
    if (check.state != "Pending") continue;
    any = true;
    const auto known = scenario_.checks.find(check.name);
    if (known != scenario_.checks.end()) longest = std::max(longest, known->second);
  }
  if (!any) return;
  live.checking = true;
  timetable_.plan(elapsed_ + longest.count(), job, ++live.epoch, Due::kChecks);
}

void Runner::answer_checks(uint32_t job, Live& live) {
  WorkloadStatus status = live.workload->status;
  for (AdmissionCheckState& check : status.admission_checks) {
    check.state = "Ready";
    check.last_transition = whole_seconds(now().wall);
  }
  put_status(job, live, std::move(status));
}

void Runner::stop(uint32_t job, Live& live) {
  if (live.stopping) return;
  live.stopping = true;
  live.checking = false;
  places_.drop_waiting(job, elapsed_);
  ++live.epoch;
  // Without pods no stop is needed.
  const int64_t stop_time = live.running ? scenario_.stop_time.count() : 0;
  if (live.running && live.left && scenario_.shapes[scenario_.arrivals[job].shape].keeps_progress)
    live.left = std::max<Duration>(*live.left - Duration(std::max<int64_t>(elapsed_ - live.started, 0)), Duration(1));
  timetable_.plan(elapsed_ + stop_time, job, live.epoch, Due::kStopped);
}

void Runner::release(uint32_t job, Live& live) {
  live.stopping = false;
  ++live.epoch;
  places_.leave(job, elapsed_);
  if (std::exchange(live.running, false)) {
    history_.stays[live.stay].to = elapsed_;
    history_.stays[live.stay].ended_by_eviction = true;
  }
  const Condition evicted = *find_condition(live.workload->status.conditions, kEvictedCondition);
  reconcilers::WorkloadEditor editor(*live.workload, context(), reconcilers::Stamp::kExact);
  editor.release_evicted(evicted);
  put_status(job, live, std::move(editor.status));
}

void Runner::end(uint32_t job, Live& live) {
  history_.stays[live.stay].to = elapsed_;
  reconcilers::WorkloadEditor editor(*live.workload, context(), reconcilers::Stamp::kExact);
  editor.finish(kSucceededReason, "");
  put_status(job, live, std::move(editor.status));
  forget(job, Fate::kFinished);
}

void Runner::forget(uint32_t job, Fate fate) {
  const auto found = live_.find(job);
  Live& live = *found->second;
  places_.leave(job, elapsed_);
  const Condition* evicted = find_condition(live.workload->status.conditions, kEvictedCondition);
  if (fate == Fate::kDeactivated)
    ++history_.deactivations[evicted == nullptr ? std::string(kDeactivatedReason) : evicted->reason.text()];
  history_.jobs[job].fate = fate;
  history_.jobs[job].end = elapsed_;
  if (live.waits) history_.usage.add_pending(elapsed_, -1);
  for (const auto& [slot, amount] : live.usage) history_.usage.add(slot, elapsed_, -amount);
  by_path_.erase(path_of(live.workload->meta));
  Workload gone = *live.workload;
  gone.meta.resource_version = ++version_;
  const TypedObject last = std::make_shared<const Workload>(std::move(gone));
  if (const auto removed = state_.remove_watched(last)) decisions_.remove(*removed, state_, now());
  live_.erase(found);
  ++over_;
}

void Runner::note_quota(Live& live) {
  const Workload& workload = *live.workload;
  const bool holds = workload.has_quota_reserved() && workload.status.admission && !workload.finished();
  if (holds != live.waits) return;
  live.waits = !holds;
  history_.usage.add_pending(elapsed_, holds ? -1 : 1);
  if (holds) {
    const Admission& admission = *workload.status.admission;
    for (const PodSetAssignment& pod_set : admission.pod_sets) {
      for (const auto& [resource, quantity] : pod_set.resource_usage) {
        const auto flavor = pod_set.flavors.find(resource);
        if (flavor == pod_set.flavors.end()) continue;
        live.usage.emplace_back(history_.usage.slot({admission.cluster_queue, flavor->second, resource}),
                                to_amount(resource, quantity));
      }
    }
  }
  for (const auto& [slot, amount] : live.usage) history_.usage.add(slot, elapsed_, holds ? amount : -amount);
  if (!holds) live.usage.clear();
}

void Runner::note_eviction(uint32_t job, const Workload& before, const Workload& after) {
  if (!after.evicted() || before.evicted()) return;
  const Condition& evicted = *find_condition(after.status.conditions, kEvictedCondition);
  const auto& admission = after.status.admission;
  if (!admission) return;
  JobRecord& record = history_.jobs[job];
  ++record.evictions;
  std::string reason = evicted.reason;
  if (reason == kPreemptedReason) {
    ++record.preemptions;
    if (const Condition* how = find_condition(after.status.conditions, kPreemptedCondition))
      reason += "/" + how->reason.text();
  }
  if (reason == kFlavorFallbackReason) ++record.fallbacks;
  ++history_.evictions[admission->cluster_queue][reason];
}

uint16_t Runner::flavor_set(const std::vector<std::string>& flavors) {
  std::string text;
  for (const std::string& flavor : flavors) text += (text.empty() ? "" : "+") + flavor;
  const auto [known, is_new] = flavor_sets_.try_emplace(text, static_cast<uint16_t>(history_.flavor_sets.size()));
  if (is_new) history_.flavor_sets.push_back(std::move(text));
  return known->second;
}

}  // namespace muster::forecast
