#include "state/gang_index.h"

#include <algorithm>

#include "api/job.h"
#include "api/meta/constants.h"
#include "api/pod.h"
#include "base/whole_number.h"
#include "jobs/group_scheduling.h"
#include "jobs/jobset/jobset_fields.h"

namespace muster::state {
namespace {

constexpr std::string_view kOwnAttempt = "0";

bool is_kind(const std::optional<OwnerReference>& owner, const ResourceType& type) {
  return owner && jobs::job_type_of(*owner) == &type;
}

// A Job that waits at its own barrier, inside a JobSet or not. Inside a gang JobSet it waits at the barrier of
// the JobSet.
bool has_own_barrier(const Job& job) {
  return job.barrier && jobs::is_group_config_map_of(jobs::batch_job, job.meta.name, job.barrier->config_map);
}

bool waits_for_its_job(const Pod& pod) {
  return is_kind(pod.meta.controller, kJobs) &&
         jobs::is_group_config_map_of(jobs::batch_job, pod.meta.controller->name, pod.barrier_config_map);
}

std::string make_token(std::string_view uid, std::string_view attempt, std::string_view epoch) {
  return uid.empty() || attempt.empty() || epoch.empty() ? "" : jobs::group_token(uid, attempt, epoch);
}

std::string_view part_of(std::string_view token, size_t index) {
  for (; index > 0; --index) token.remove_prefix(std::min(token.find('/') + 1, token.size()));
  return token.substr(0, token.find('/'));
}

std::pair<int32_t, std::string> completion_of(const Pod& pod) {
  const int64_t index = whole_number<int64_t>(pod.meta.annotation(kCompletionIndexAnnotation)).value_or(-1);
  return index < 0 ? std::pair(-1, pod.meta.name) : std::pair(static_cast<int32_t>(index), std::string());
}

bool is_started(const std::vector<PodPtr>& place) {
  return std::any_of(place.begin(), place.end(), [](const PodPtr& pod) { return pod->has_started(); });
}

// Identifies the Job within its gang: the replicated job and the index, from the Job's name. A name cannot
// change and is unique. The name of a Job outside the gang contains neither.
struct Member {
  std::string replicated_job;
  int64_t index;
};
std::optional<Member> member_of(const Job& job) {
  if (has_own_barrier(job)) return Member{"", 0};
  const std::string_view replicated_job = job.meta.label(kReplicatedJobNameKey);
  const std::string& jobset_name = job.meta.controller->name;
  const std::string_view digits = std::string_view(job.meta.name).substr(job.meta.name.rfind('-') + 1);
  const int64_t index = whole_number<int64_t>(digits).value_or(-1);
  if (index < 0 || index > INT32_MAX) return std::nullopt;
  if (jobs::child_job_name(jobset_name, replicated_job, static_cast<int32_t>(index)) != job.meta.name)
    return std::nullopt;
  return Member{std::string(replicated_job), index};
}

void add_evidence(GangJob& job, const Pod& pod, int sign) {
  job.passed += pod.waiter == WaiterState::kPassed ? sign : 0;
  job.refused += pod.waiter == WaiterState::kFailed && pod.waiter_exit_code == 1 ? sign : 0;
}

std::optional<TimePoint> started_at(const Pod& pod) {
  if (pod.waiter_started.is_zero()) return std::nullopt;
  return to_time_point(std::max(pod.waiter_started, pod.meta.created));
}

std::pair<TimePoint, std::string> nudge_place_of(const Pod& pod) {
  const auto nudge = read_nudge(pod.meta.annotation(kGroupNudgeAnnotation));
  return {nudge ? nudge->time + nudge_interval(nudge->count) : TimePoint::min(), pod.meta.name};
}

}  // namespace

int32_t GangJob::expected() const {
  return job == nullptr ? 0 : job->pods_expected();
}

bool GangJob::filled() const {
  return job != nullptr && (expected() == 0 || (!job->suspended && started >= expected()));
}

std::optional<Nudge> read_nudge(std::string_view annotation) {
  const size_t first = annotation.find(' ');
  const size_t last = annotation.rfind(' ');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const auto time = parse_rfc3339(annotation.substr(last + 1));
  if (!time.ok()) return std::nullopt;
  const int64_t count = whole_number<int64_t>(annotation.substr(first + 1, last - first - 1)).value_or(1);
  return Nudge{std::string(annotation.substr(0, first)), static_cast<int32_t>(std::clamp<int64_t>(count, 1, 1'000'000)),
               to_time_point(*time)};
}

std::string to_text(const Nudge& nudge) {
  return nudge.verdict + " " + std::to_string(nudge.count) + " " + format_rfc3339_micro(to_timestamp(nudge.time));
}

Duration nudge_interval(int32_t count) {
  const int doublings = std::clamp(count, 1, 5) - 1;
  return std::min<Duration>(std::chrono::seconds(2 << doublings), kLongestNudgeInterval);
}

std::optional<ObjectKey> GangIndex::owner_of(const Pod& pod) {
  if (pod.barrier_config_map.empty()) return std::nullopt;
  if (waits_for_its_job(pod)) return ObjectKey{&kJobs, pod.meta.ns, pod.meta.controller->name};
  const std::string_view jobset_name = pod.meta.label(kJobSetNameKey);
  if (jobset_name.empty()) return std::nullopt;
  return ObjectKey{&kJobSets, pod.meta.ns, std::string(jobset_name)};
}

std::optional<ObjectKey> GangIndex::owner_of(const Job& job) {
  if (!job.barrier) return std::nullopt;
  if (has_own_barrier(job)) return key_of(kJobs, job.meta);
  if (!is_kind(job.meta.controller, kJobSets)) return std::nullopt;
  return ObjectKey{&kJobSets, job.meta.ns, job.meta.controller->name};
}

std::string GangIndex::token_of(const Pod& pod) {
  if (!is_kind(pod.meta.controller, kJobs)) return "";
  const std::string_view epoch = pod.meta.annotation(kGroupEpochAnnotation);
  if (waits_for_its_job(pod)) return make_token(pod.meta.label(kControllerUidLabel), kOwnAttempt, epoch);
  return make_token(pod.meta.label(kJobSetUidLabel), pod.meta.label(kRestartAttemptLabel), epoch);
}

std::string GangIndex::token_of(const Job& job) {
  if (!job.barrier) return "";
  if (has_own_barrier(job)) return make_token(job.meta.uid, kOwnAttempt, job.barrier->epoch);
  if (!is_kind(job.meta.controller, kJobSets) || !member_of(job)) return "";
  return make_token(job.meta.controller->uid, job.meta.label(kRestartAttemptLabel), job.barrier->epoch);
}

const Gang* GangIndex::find(const ObjectMeta& owner) const {
  const auto found = gangs_.find(path_of(owner.ns, owner.uid));
  return found == gangs_.end() ? nullptr : &found->second;
}

GangIndex::Place GangIndex::place_of(std::string_view ns, const std::string& token) {
  Gang& gang = gangs_[path_of(ns, part_of(token, 0))];
  const auto [run, is_new] = gang.runs.try_emplace(token);
  if (is_new) run->second.attempt = whole_number<int64_t>(part_of(token, 1)).value_or(0);
  return {&gang, &run->second};
}

void GangIndex::drop_if_empty(std::string_view ns, const std::string& token) {
  const auto gang = gangs_.find(path_of(ns, part_of(token, 0)));
  if (gang == gangs_.end()) return;
  const auto run = gang->second.runs.find(token);
  if (run != gang->second.runs.end() && run->second.jobs.empty() && run->second.waiting.empty())
    gang->second.runs.erase(run);
  if (gang->second.runs.empty() && gang->second.attempts.empty()) gangs_.erase(gang);
}

void GangIndex::count(GangRun& run, const GangJob& job, int sign) {
  if (job.job == nullptr) return;
  run.known += sign;
  run.filled += job.filled() ? sign : 0;
  if (!job.job->finished()) (job.job->suspended ? run.suspended : run.active) += sign;
  run.expected += sign * job.expected();
  run.started += sign * std::min(job.started, job.expected());
  run.passed += sign * job.passed;
  run.refused += sign * job.refused;
  if (job.first_started)
    run.first_started = run.first_started ? std::min(*run.first_started, *job.first_started) : job.first_started;
}

void GangIndex::put(const PodPtr& pod) {
  const std::string token = token_of(*pod);
  if (token.empty() || !owner_of(*pod)) return;
  GangRun& run = *place_of(pod->meta.ns, token).run;
  if (pod->live() && pod->waiter == WaiterState::kWaiting) run.waiting.emplace(nudge_place_of(*pod), pod);

  GangJob& job = run.jobs[pod->meta.controller->uid];
  count(run, job, -1);
  add_evidence(job, *pod, 1);
  if (const auto time = started_at(*pod))
    job.first_started = job.first_started ? std::min(*job.first_started, *time) : time;
  if (pod->live()) {
    std::vector<PodPtr>& place = job.places[completion_of(*pod)];
    job.started -= is_started(place) ? 1 : 0;
    place.push_back(pod);
    job.started += is_started(place) ? 1 : 0;
  }
  count(run, job, 1);
  if (job.empty()) run.jobs.erase(pod->meta.controller->uid);
  drop_if_empty(pod->meta.ns, token);
}

void GangIndex::remove(const Pod& pod) {
  const std::string token = token_of(pod);
  if (token.empty() || !owner_of(pod)) return;
  GangRun& run = *place_of(pod.meta.ns, token).run;
  run.waiting.erase(nudge_place_of(pod));
  const auto entry = run.jobs.find(pod.meta.controller->uid);
  if (entry != run.jobs.end()) {
    GangJob& job = entry->second;
    count(run, job, -1);
    add_evidence(job, pod, -1);
    const auto place = pod.live() ? job.places.find(completion_of(pod)) : job.places.end();
    if (place != job.places.end()) {
      job.started -= is_started(place->second) ? 1 : 0;
      std::erase_if(place->second, [&](const PodPtr& known) { return known->meta.name == pod.meta.name; });
      job.started += is_started(place->second) ? 1 : 0;
      if (place->second.empty()) job.places.erase(place);
    }
    count(run, job, 1);
    if (job.empty()) run.jobs.erase(entry);
  }
  drop_if_empty(pod.meta.ns, token);
}

void GangIndex::put(const JobPtr& job) {
  const std::string token = token_of(*job);
  if (token.empty() || job->meta.deleting) return;
  const Place place = place_of(job->meta.ns, token);
  GangJob& entry = place.run->jobs[job->meta.uid];
  count(*place.run, entry, -1);
  entry.job = job;
  count(*place.run, entry, 1);
  const auto [replicated_job, index] = *member_of(*job);
  place.gang->attempts[place.run->attempt][replicated_job].insert(index);
}

void GangIndex::remove(const Job& job) {
  const std::string token = token_of(job);
  if (token.empty() || job.meta.deleting) return;
  const Place place = place_of(job.meta.ns, token);
  const auto entry = place.run->jobs.find(job.meta.uid);
  if (entry == place.run->jobs.end() || entry->second.job == nullptr) return drop_if_empty(job.meta.ns, token);
  count(*place.run, entry->second, -1);
  entry->second.job = nullptr;
  if (entry->second.empty()) place.run->jobs.erase(entry);

  auto& attempts = place.gang->attempts;
  auto& jobs = attempts[place.run->attempt];
  const auto [replicated_job, index] = *member_of(job);
  const auto of_kind = jobs.find(replicated_job);
  if (of_kind != jobs.end()) {
    of_kind->second.erase(index);
    if (of_kind->second.empty()) jobs.erase(of_kind);
  }
  if (jobs.empty()) attempts.erase(place.run->attempt);
  drop_if_empty(job.meta.ns, token);
}

}  // namespace muster::state
