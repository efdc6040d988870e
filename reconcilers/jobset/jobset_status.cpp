#include "reconcilers/jobset/jobset_status.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "base/fnv.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr std::string_view kCompleted = "Completed";
constexpr std::string_view kFailed = "Failed";
constexpr std::string_view kSuspended = "Suspended";
constexpr std::string_view kStartupPolicyInProgress = "StartupPolicyInProgress";
constexpr std::string_view kRestarting = "RestartingJobSet";
// muster's own.
constexpr std::string_view kUnsupported = "Unsupported";

constexpr Duration kBeat = std::chrono::seconds(1);
// A status that is late by at most this time still counts for its beat.
constexpr Duration kBeatLasts = std::chrono::milliseconds(50);

// Time since the JobSet's last beat.
Duration since_beat(const JobSet& jobset, TimePoint time) {
  constexpr auto kSteps = static_cast<uint32_t>(kBeat / std::chrono::milliseconds(1));
  const Duration phase = std::chrono::milliseconds(fnv1a_32(jobset.meta.uid) % kSteps);
  const Duration since = (time.time_since_epoch() - phase) % kBeat;
  return since < Duration::zero() ? since + kBeat : since;
}

// A new JobSet has this time to start before its first status is written.
TimePoint first_moment(const JobSet& jobset) {
  return to_time_point(jobset.meta.created) + kBeat;
}

bool on_beat(const JobSet& jobset, TimePoint now) {
  return now >= first_moment(jobset) && since_beat(jobset, now) <= kBeatLasts;
}

TimePoint next_beat(const JobSet& jobset, TimePoint now) {
  const TimePoint after = std::max(now, first_moment(jobset));
  return after + kBeat - since_beat(jobset, after);
}

// A merge patch: a field that was there and is not any more is null.
json status_patch(const JobSetStatus& before, const JobSetStatus& status) {
  json patch = to_json(status);
  const json present = to_json(before);
  for (const auto& [field, value] : present.items()) {
    if (!patch.contains(field)) patch[field] = nullptr;
  }
  return patch;
}

Write status_write(const JobSet& jobset, const JobSetStatus& status, std::vector<ObjectEvent> events,
                   std::vector<Measurement> measurements = {}) {
  return {.verb = Verb::kPatchStatus,
          .target = key_of(kJobSets, jobset.meta),
          .body = with_version(jobset.meta, {{"status", status_patch(jobset.status, status)}}),
          .events = std::move(events),
          .measurements = std::move(measurements)};
}

void count_out_unfinished(std::vector<ReplicatedJobStatus>& counts) {
  for (ReplicatedJobStatus& entry : counts) entry.active = entry.ready = entry.suspended = 0;
}

int32_t after(int32_t attempt) {
  return attempt == std::numeric_limits<int32_t>::max() ? attempt : attempt + 1;
}

}  // namespace

int32_t execution_attempt_of(const JobSet& jobset) {
  const std::optional<int32_t>& stored = jobset.status.execution_attempts;
  if (!stored) return jobset.status.restarts;
  const bool resumes = !jobset.suspended && condition_is_true(jobset.status.conditions, kSuspended);
  return resumes ? after(*stored) : *stored;
}

ObjectEvent event_about(const JobSet& jobset, EventReason reason, std::string note) {
  return event_about_version(kJobSets, jobset.meta, reason, std::move(note));
}

StatusDraft::StatusDraft(const JobSet& jobset, std::vector<ReplicatedJobStatus> counts, Now now)
    : jobset_(jobset), now_(now), status_(jobset.status) {
  status_.replicated_jobs = std::move(counts);
}

bool StatusDraft::set(Condition condition) {
  const Condition* present = find_condition(status_.conditions, condition.type);
  return (present == nullptr || present->status != condition.status) && update(std::move(condition));
}

bool StatusDraft::update(Condition condition) {
  const Condition* present = find_condition(status_.conditions, condition.type);
  if (present == nullptr && !condition.is_true()) return false;
  const bool same_status = present != nullptr && present->status == condition.status;
  if (same_status && present->reason == condition.reason && present->message == condition.message) return false;
  condition.last_transition = same_status ? present->last_transition : whole_seconds(now_.wall);
  set_condition(status_.conditions, std::move(condition));
  changed_ = true;
  return true;
}

bool StatusDraft::turn(std::string_view type, std::string_view status, EventReason reason, const std::string& message) {
  if (!set({std::string(type), std::string(status), std::string(to_text(reason)), message, {}})) return false;
  events_.push_back(event_about(jobset_, reason, message));
  return true;
}

void StatusDraft::turn_off(std::string_view type) {
  const Condition* present = find_condition(status_.conditions, type);
  if (present == nullptr) return;
  Condition condition = *present;
  condition.status = "False";
  set(std::move(condition));
}

void StatusDraft::end(std::string_view state) {
  status_.terminal_state = state;
  count_out_unfinished(status_.replicated_jobs);
  urgent_ = true;
}

void StatusDraft::report_restart(std::string_view status, EventReason reason, const std::string& rule,
                                 const std::string& message) {
  ObjectEvent event = event_about(jobset_, reason, message);
  event.reason += rule;
  if (update({std::string(kRestarting), std::string(status), event.reason, message, {}}))
    events_.push_back(std::move(event));
}

void StatusDraft::end_restart(EventReason reason, const std::string& message) {
  report_restart("False", reason, "", message);
}

void StatusDraft::complete() {
  turn(kCompleted, "True", EventReason::kAllJobsCompleted, "jobset completed successfully");
  end_restart(EventReason::kJobSetCompleted, "jobset completed successfully");
  measurements_.push_back({.what = Measured::kJobSetCompleted, .ns = jobset_.meta.ns, .jobset = jobset_.meta.name});
  end(kCompleted);
}

void StatusDraft::fail(const Verdict& verdict) {
  turn(kFailed, "True", verdict.reason, verdict.message);
  end_restart(EventReason::kJobSetFailed, "jobset failed");
  measurements_.push_back({.what = Measured::kJobSetFailed, .ns = jobset_.meta.ns, .jobset = jobset_.meta.name});
  end(kFailed);
}

void StatusDraft::exceed_deadline() {
  fail({.kind = Verdict::Kind::kFail,
        .reason = EventReason::kDeadlineExceeded,
        .message = "JobSet was active for longer than the specified deadline of " +
                   std::to_string(*jobset_.active_deadline_seconds) + " seconds"});
  measurements_.push_back({.what = Measured::kJobSetTooLate, .ns = jobset_.meta.ns, .jobset = jobset_.meta.name});
}

void StatusDraft::all_jobs_ready() {
  int64_t wanted = 0, ready = 0;
  for (const ReplicatedJob& replicated : jobset_.replicated_jobs) wanted += replicated.replicas;
  for (const ReplicatedJobStatus& entry : status_.replicated_jobs) ready += int64_t{entry.ready} + entry.succeeded;
  if (ready >= wanted) end_restart(EventReason::kJobsReady, "all jobs are ready");
}

void StatusDraft::in_place_attempts(std::optional<int32_t> current, std::optional<int32_t> previous) {
  if (current == status_.current_in_place_attempt && previous == status_.previous_in_place_attempt) return;
  status_.current_in_place_attempt = current;
  status_.previous_in_place_attempt = previous;
  urgent_ = true;  // pods wait for it
}

void StatusDraft::keep_start_time(bool enabled) {
  const bool runs = enabled && !jobset_.suspended;
  if (runs != status_.start_time.is_zero()) return;
  status_.start_time = runs ? whole_seconds(now_.wall) : Timestamp{};
  changed_ = true;
}

std::optional<TimePoint> StatusDraft::deadline() const {
  if (!jobset_.active_deadline_seconds || status_.start_time.is_zero()) return std::nullopt;
  const TimePoint start = to_time_point(status_.start_time);
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(TimePoint::max() - start);
  if (*jobset_.active_deadline_seconds > longest.count()) return std::nullopt;
  return start + std::chrono::seconds(*jobset_.active_deadline_seconds);
}

void StatusDraft::count_execution() {
  const int32_t attempt = execution_attempt_of(jobset_);
  counts_attempts_ = true;
  // Also while an ordered startup is in progress: the next suspension must be followed by another number.
  resume();
  if (status_.execution_attempts == attempt) return;
  status_.execution_attempts = attempt;
  changed_ = true;
}

void StatusDraft::unsupported(const std::vector<std::string>& what) {
  std::string message = "muster does not create, resume or restart Jobs of this JobSet, because it does not support ";
  for (const std::string& each : what) message += (&each == what.data() ? "" : ", ") + each;
  set({std::string(kUnsupported), "True", "UnsupportedFeature", message, {}});
}

void StatusDraft::restart(const Verdict& verdict) {
  ++status_.restarts;
  if (counts_attempts_) status_.execution_attempts = after(*status_.execution_attempts);
  if (!status_.start_time.is_zero()) status_.start_time = whole_seconds(now_.wall);
  if (verdict.counts_towards_max) ++status_.restarts_count_towards_max;
  for (ReplicatedJobStatus& entry : status_.replicated_jobs) {
    entry.active = entry.ready = entry.succeeded = entry.failed = entry.suspended = 0;
  }
  // Here, and not when the Jobs are deleted: then the Jobs could not be distinguished from Jobs that restart
  // individually.
  turn_off(jobs::kStartupPolicyCompleted);
  // With several restarts in a row the message names the last restart; the start time of the first restart
  // stays.
  report_restart("True", verdict.restarting_reason, verdict.rule, verdict.message);
  events_.push_back(event_about(jobset_, verdict.reason, verdict.message));
  urgent_ = true;
}

void StatusDraft::restart_job(const Verdict& verdict) {
  const ReplicatedJob* replicated = jobset_.find(verdict.replicated_job);
  const auto entry = std::find_if(status_.replicated_jobs.begin(), status_.replicated_jobs.end(),
                                  [&](const auto& each) { return each.name == verdict.replicated_job; });
  if (replicated == nullptr || entry == status_.replicated_jobs.end()) return;
  const auto count = static_cast<size_t>(replicated->replicas), index = static_cast<size_t>(verdict.job_index);
  for (std::vector<int32_t>* list : {&entry->job_restarts, &entry->job_restarts_count_towards_max})
    list->resize(std::max(count, list->size()));
  ++entry->job_restarts[index];
  if (verdict.counts_towards_max) ++entry->job_restarts_count_towards_max[index];
  --entry->failed;
  events_.push_back(event_about(jobset_, verdict.reason, verdict.message));
  urgent_ = true;
}

void StatusDraft::suspend() {
  turn(kSuspended, "True", EventReason::kSuspendedJobs, "jobset is suspended");
  end_restart(EventReason::kJobSetSuspended, "jobset is suspended");
}

void StatusDraft::resume() {
  turn(kSuspended, "False", EventReason::kResumeJobs, "jobset is resumed");
}

void StatusDraft::startup_in_progress() {
  const bool news = turn(kStartupPolicyInProgress, "True", EventReason::kInOrderStartupPolicyInProgress,
                         "in order startup policy is in progress");
  if (news) turn_off(jobs::kStartupPolicyCompleted);
}

void StatusDraft::startup_completed() {
  const bool news = turn(jobs::kStartupPolicyCompleted, "True", EventReason::kInOrderStartupPolicyCompleted,
                         "in order startup policy has completed");
  if (news) turn_off(kStartupPolicyInProgress);
}

void StatusDraft::supported() {
  const Condition* present = find_condition(status_.conditions, kUnsupported);
  if (present == nullptr || !present->is_true()) return;
  set({std::string(kUnsupported), "False", "Supported", "muster runs this JobSet", {}});
}

bool StatusDraft::is_worth_a_write(const Plan& plan, const jobs::StartupGates& gates) const {
  if (urgent_) return true;
  if (!plan.writes.empty()) return false;
  return changed_ || settled(jobset_, gates, status_.replicated_jobs) ||
         settled(jobset_, gates, jobset_.status.replicated_jobs);
}

void StatusDraft::write_into(Plan& plan, const jobs::StartupGates& gates) const {
  const bool counts_changed = !same_counts(status_.replicated_jobs, jobset_.status.replicated_jobs);
  if (!urgent_ && !changed_ && !counts_changed) return;
  if (!is_worth_a_write(plan, gates) && !on_beat(jobset_, now_.wall)) {
    return plan.wake_at(next_beat(jobset_, now_.wall));
  }
  plan.writes.push_back(status_write(jobset_, status_, events_, measurements_));
}

void settle_counts_of_finished(const JobSet& jobset, Plan& plan) {
  JobSetStatus status = jobset.status;
  count_out_unfinished(status.replicated_jobs);
  if (!same_counts(status.replicated_jobs, jobset.status.replicated_jobs)) {
    plan.writes.push_back(status_write(jobset, status, {}));
  }
}

}  // namespace muster::reconcilers
