#include "reconcilers/gang/group_scheduling_progress.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "api/pod.h"
#include "api/requests.h"
#include "base/whole_number.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/jobset/startup_gates.h"

namespace muster::reconcilers {
namespace {

int64_t newest_attempt(const state::Gang& gang) {
  return gang.attempts.empty() ? -1 : gang.attempts.rbegin()->first;
}

int64_t pods_of(const ReplicatedJob& target) {
  return pods_at_once(target.parallelism, target.completions);
}

// The indexes of this replicated job that have Jobs, in order.
const std::set<int64_t>& indexes_of(const state::Gang* gang, const ReplicatedJob& target) {
  static const std::set<int64_t> kNone;
  if (gang == nullptr || gang->attempts.empty()) return kNone;
  const auto& jobs = gang->attempts.rbegin()->second;
  const auto found = jobs.find(target.name);
  return found == jobs.end() ? kNone : found->second;
}

// Jobs beyond the replicas do not count.
int64_t jobs_there(const state::Gang* gang, const ReplicatedJob& target) {
  const std::set<int64_t>& indexes = indexes_of(gang, target);
  if (indexes.empty() || *indexes.rbegin() < target.replicas) return static_cast<int64_t>(indexes.size());
  return std::distance(indexes.begin(), indexes.lower_bound(target.replicas));
}

// Pods of the target Jobs that do not exist yet.
int64_t pods_of_missing_jobs(const GangOwner& owner, const state::Gang* gang, bool& blocked) {
  const bool any = gang != nullptr && !gang->attempts.empty();
  if (owner.jobset == nullptr) {
    blocked |= !any;
    return any ? 0 : owner.job->pods_expected();
  }
  int64_t pods = 0;
  for (const ReplicatedJob& target : owner.jobset->replicated_jobs) {
    if (!target.barrier) continue;
    const int64_t there = jobs_there(gang, target);
    if (there >= target.replicas) continue;
    blocked = true;
    pods = saturating_add(pods, (target.replicas - there) * pods_of(target));
  }
  return pods;
}

// Only a target of dependsOn can wait while another one has pods: InOrder has one target (validators/gang).
std::string held_target(const GangOwner& owner) {
  if (owner.jobset == nullptr) return "";
  const auto& jobs = owner.jobset->replicated_jobs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].barrier || jobs[i].depends_on.empty()) continue;
    const std::string until = jobs::closed_until(*owner.jobset, i);
    if (!until.empty()) return jobs[i].name + " waits " + until;
  }
  return "";
}

bool starts_in_parts(const GangOwner& owner) {
  if (owner.jobset == nullptr) return false;
  size_t targets = 0, waiting = 0;
  for (const ReplicatedJob& job : owner.jobset->replicated_jobs) {
    if (!job.barrier) continue;
    ++targets;
    if (!job.depends_on.empty()) ++waiting;
  }
  return targets > 1 && waiting > 0;
}

void add_run(const state::GangRun& run, const std::string& token, GroupVerdict verdict, GroupProgress& progress) {
  progress.blocked |= run.suspended > 0;
  if (verdict == GroupVerdict::kStarted) {
    progress.released |= run.active > 0;
    return;
  }
  progress.expected += run.expected;
  progress.started += run.started;
  progress.all_filled &= run.filled == run.known;
  if (run.active == 0) return;
  if (verdict == GroupVerdict::kExpired) {
    progress.expired = true;
    return;
  }
  progress.undecided.push_back(token);
  if (!run.first_started) return;
  progress.first_started =
      progress.first_started ? std::min(*progress.first_started, *run.first_started) : run.first_started;
}

// Items for people, of which only the first few are named.
class MissingList {
 public:
  static constexpr size_t kLongestReason = 120;
  static constexpr size_t kLongestRefusal = 400;  // the API server's sentence about a quota has 200

  bool full() const { return named_ >= kMostNamed; }
  void add(std::string_view name, std::string_view why, int64_t pods = 1, size_t longest = kLongestReason) {
    if (full()) return add_unnamed(pods);
    ++named_;
    text_.append(text_.empty() ? "" : ", ").append(name).append(" (").append(shorten(why, longest)).append(")");
  }
  void add_unnamed(int64_t pods) { more_ = saturating_add(more_, std::max<int64_t>(pods, 0)); }
  std::string text() const {
    if (more_ == 0) return text_;
    return text_ + (text_.empty() ? "" : " and ") + std::to_string(more_) + (text_.empty() ? " pods" : " more");
  }

 private:
  static constexpr int kMostNamed = 5;

  static std::string shorten(std::string_view why, size_t longest) {
    std::string text(why.substr(0, longest));
    if (why.size() > longest) {
      // Not through the middle of a character.
      while (!text.empty() && (static_cast<unsigned char>(why[text.size()]) & 0xC0) == 0x80) text.pop_back();
      text += "...";
    }
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  std::string text_;
  int named_ = 0;
  int64_t more_ = 0;
};

std::string pods_text(int64_t pods) {
  return std::to_string(pods) + (pods == 1 ? " pod" : " pods");
}

std::string why_not_started(const Pod& pod) {
  if (pod.waiter == WaiterState::kFailed) return "its waiter exited with " + std::to_string(pod.waiter_exit_code);
  if (!pod.hindrance.empty()) return pod.hindrance;
  return pod.node.empty() ? "not scheduled" : "starting on " + pod.node;
}

struct IndexRange {
  int64_t first, last;

  bool operator<(const IndexRange& other) const { return first < other.first; }
};

// "0,2-4" -> {0, 0}, {2, 4}; ordered by their first index. A text that is not a number is 0.
std::vector<IndexRange> read_ranges(std::string_view text) {
  const auto number = [](std::string_view digits) { return int64_t{whole_number<int32_t>(digits).value_or(0)}; };
  std::vector<IndexRange> ranges;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(range.size() + 1, text.size()));
    const size_t dash = range.find('-');
    const int64_t first = number(range.substr(0, dash));
    ranges.push_back({first, dash == std::string_view::npos ? first : number(range.substr(dash + 1))});
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

// Moves from gap to gap: two billion indexes are possible, but only as many pods and ranges as are stored.
void add_pods_not_created(const state::GangJob& gang_job, int64_t pods, MissingList& missing) {
  const Job& job = *gang_job.job;
  if (pods <= 0) return;
  if (!job.indexed || !job.completions)
    return missing.add(pods_text(pods) + " of Job " + job.meta.name, "not created", pods);
  const std::vector<IndexRange> completed = read_ranges(job.status.completed_indexes);
  auto range = completed.begin();
  auto place = gang_job.places.lower_bound({0, ""});
  for (int64_t index = 0; index < *job.completions && pods > 0 && !missing.full();) {
    while (range != completed.end() && range->last < index) ++range;
    if (range != completed.end() && range->first <= index) {
      index = range->last + 1;
      continue;
    }
    while (place != gang_job.places.end() && place->first.first < index) ++place;
    if (place == gang_job.places.end() || place->first.first != index) {
      missing.add(job.meta.name + "-" + std::to_string(index), "not created");
      --pods;
    }
    ++index;
  }
  missing.add_unnamed(pods);
}

void add_job(const state::GangJob& gang_job, std::string_view why_suspended, MissingList& missing) {
  const Job& job = *gang_job.job;
  if (gang_job.filled()) return;
  if (missing.full()) return missing.add_unnamed(gang_job.expected() - (job.suspended ? 0 : gang_job.started));
  if (job.suspended)
    return missing.add("Job " + job.meta.name, std::string(why_suspended) + ", " + pods_text(gang_job.expected()),
                       gang_job.expected());
  int64_t left = gang_job.expected() - gang_job.started;
  for (const auto& [place, pods] : gang_job.places) {
    if (left <= 0 || static_cast<int64_t>(gang_job.places.size()) == gang_job.started) break;
    const bool started = std::any_of(pods.begin(), pods.end(), [](const PodPtr& pod) { return pod->has_started(); });
    if (started) continue;
    missing.add(pods.front()->meta.name, missing.full() ? "" : why_not_started(*pods.front()));
    --left;
  }
  add_pods_not_created(gang_job, left, missing);
}

}  // namespace

GroupProgress assess(const GangOwner& owner, const state::Gang* gang, const GangDecisions& ledger) {
  GroupProgress progress;
  progress.expected = pods_of_missing_jobs(owner, gang, progress.blocked);
  if (gang == nullptr) return progress;
  const int64_t attempt = newest_attempt(*gang);
  for (const auto& [token, run] : gang->runs) {
    if (run.attempt == attempt && run.known > 0) add_run(run, token, ledger.verdict(token), progress);
  }
  if (progress.blocked) progress.held = held_target(owner);
  return progress;
}

namespace {

// Of the newest attempt, by name; null: released.
using KnownJobs = std::map<std::string_view, const state::GangJob*>;

KnownJobs known_jobs(const state::Gang* gang, const GangDecisions& ledger) {
  KnownJobs jobs;
  if (gang == nullptr) return jobs;
  for (const auto& [token, run] : gang->runs) {
    if (run.attempt != newest_attempt(*gang)) continue;
    const bool released = ledger.verdict(token) == GroupVerdict::kStarted;
    for (const auto& [uid, job] : run.jobs) {
      if (job.job != nullptr) jobs[job.job->meta.name] = released && !job.job->suspended ? nullptr : &job;
    }
  }
  return jobs;
}

// Of a target whose Jobs do not exist, or are suspended.
struct Absence {
  std::string gate;     // "waits until prep is complete"; empty: they can start
  std::string refusal;  // the API server's words; empty: none
};

Absence absence_of(const JobSet& owner, size_t target, const state::ClusterState& state) {
  Absence absence;
  if (const std::string until = jobs::closed_until(owner, target); !until.empty()) absence.gate = "waits " + until;
  const ObjectKey key = key_of(kJobSets, owner.meta);
  const auto* rejection = state.writes().rejection(key, kJobs);
  if (rejection == nullptr || state.find<Job>(key.ns, rejection->target.name) != nullptr) return absence;
  // All Jobs of a replicated job have one template: what is wrong with one is wrong with each.
  const std::string prefix = owner.meta.name + "-" + owner.replicated_jobs[target].name + "-";
  const std::string_view name = rejection->target.name;
  if (name.starts_with(prefix) && whole_number<int32_t>(name.substr(prefix.size()))) absence.refusal = rejection->why;
  return absence;
}

// A name that another Job has: an earlier one of this JobSet, or one of another owner.
std::string why_name_conflict(const JobSet& owner, const Job& present) {
  const bool ours = present.meta.controller && present.meta.controller->uid == owner.meta.uid;
  return ours ? "the Job of the attempt before has not gone" : "a Job of this name does not belong to the JobSet";
}

void add_missing_job(const JobSet& owner, const std::string& name, int64_t pods, Absence& absence,
                     const state::ClusterState& state, MissingList& missing) {
  std::string why = absence.gate.empty() ? "not created" : absence.gate;
  if (pods > 0) why += ", " + pods_text(pods);
  // Once for each target.
  std::string reason = std::exchange(absence.refusal, "");
  if (const Job* present = state.find<Job>(owner.meta.ns, name)) reason = why_name_conflict(owner, *present);
  if (!reason.empty()) why += ": " + reason;
  missing.add("Job " + name, why, pods, MissingList::kLongestRefusal);
}

// The cost depends on the number of existing Jobs, not on the requested number.
void add_target(const JobSet& owner, const ReplicatedJob& target, const std::set<int64_t>& indexes,
                const KnownJobs& jobs, const state::ClusterState& state, MissingList& missing) {
  const int64_t pods = std::max<int64_t>(pods_of(target), 0);
  Absence absence = absence_of(owner, static_cast<size_t>(&target - owner.replicated_jobs.data()), state);
  int64_t next = 0;
  const auto add_missing_until = [&](int64_t end) {
    for (; next < end && !missing.full(); ++next)
      add_missing_job(owner, jobs::child_job_name(owner.meta.name, target.name, next), pods, absence, state, missing);
    missing.add_unnamed((end - next) * pods);
    next = end;
  };
  for (const int64_t index : indexes) {
    if (index >= target.replicas) break;
    add_missing_until(index);
    const auto found = jobs.find(jobs::child_job_name(owner.meta.name, target.name, index));
    if (found != jobs.end() && found->second != nullptr)
      add_job(*found->second, absence.gate.empty() ? "suspended" : absence.gate, missing);
    next = index + 1;
  }
  add_missing_until(std::max<int64_t>(next, target.replicas));
}

}  // namespace

std::string missing_pods(const GangOwner& owner, const state::Gang* gang, const GangDecisions& ledger,
                         const state::ClusterState& state) {
  const KnownJobs jobs = known_jobs(gang, ledger);
  MissingList missing;
  if (owner.jobset != nullptr) {
    for (const ReplicatedJob& target : owner.jobset->replicated_jobs) {
      if (target.barrier) add_target(*owner.jobset, target, indexes_of(gang, target), jobs, state, missing);
    }
    return missing.text();
  }
  const auto found = jobs.find(owner.job->meta.name);
  const int64_t pods = owner.job->pods_expected();
  if (found == jobs.end() && pods > 0)
    missing.add("Job " + owner.job->meta.name, "not created, " + pods_text(pods), pods);
  else if (found != jobs.end() && found->second != nullptr)
    add_job(*found->second, "suspended", missing);
  return missing.text();
}

std::string refused_objects(const GangOwner& owner, const state::ClusterState& state) {
  std::string text;
  for (const ResourceType* type : {&kServices, &kPersistentVolumeClaims}) {
    const auto* rejection = state.writes().rejection(owner.key, *type);
    if (rejection == nullptr || state.find(*type, rejection->target.ns, rejection->target.name) != nullptr) continue;
    text += (text.empty() ? "" : "; ") + std::string(type->kind) + " " + rejection->target.name +
            " cannot be created: " + rejection->why;
  }
  return text;
}

std::optional<TimePoint> deadline_of(const GangOwner& owner, const GroupProgress& progress, const GangDecisions& ledger,
                                     TimePoint now) {
  std::optional<TimePoint> earliest;
  for (const std::string& token : progress.undecided) {
    const auto stored = ledger.deadline(token);
    if (stored) earliest = earliest ? std::min(*earliest, *stored) : stored;
  }
  if (earliest || !progress.first_started || !progress.held.empty()) return earliest;
  const TimePoint begin = starts_in_parts(owner) ? now : std::min(*progress.first_started, now);
  return begin + std::chrono::seconds(owner.barrier.timeout_seconds);
}

}  // namespace muster::reconcilers
