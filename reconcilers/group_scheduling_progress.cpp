#include "reconcilers/group_scheduling_progress.h"

#include <algorithm>

#include "api/constants.h"
#include "jobs/jobset_fields.h"

namespace muster {
namespace {

int64_t newest_attempt(const Gang& gang) {
  return gang.attempts.empty() ? -1 : gang.attempts.rbegin()->first;
}

int32_t pods_of(const ReplicatedJob& target) {
  return pods_at_once(target.parallelism, target.completions);
}

// Pods of the target Jobs that do not exist yet.
int64_t pods_of_missing_jobs(const GangOwner& owner, const Gang* gang, bool& blocked) {
  const bool any = gang != nullptr && !gang->attempts.empty();
  if (owner.jobset == nullptr) {
    blocked |= !any;
    return any ? 0 : owner.job->pods_expected();
  }
  int64_t pods = 0;
  for (const ReplicatedJob& target : owner.jobset->replicated_jobs) {
    if (!target.barrier) continue;
    int32_t there = 0;
    if (any) {
      const auto& jobs = gang->attempts.rbegin()->second;
      const auto found = jobs.find(target.name);
      there = found == jobs.end() ? 0 : found->second;
    }
    if (there >= target.replicas) continue;
    blocked = true;
    pods += int64_t{target.replicas - there} * pods_of(target);
  }
  return pods;
}

void add_run(const GangRun& run, const std::string& token, GroupVerdict verdict, GroupProgress& progress) {
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
  bool full() const { return named_ >= kMostNamed; }
  void add(std::string_view name, std::string_view why, int64_t pods = 1) {
    if (pods <= 0) return;
    if (full()) {
      more_ += pods;
      return;
    }
    ++named_;
    text_.append(text_.empty() ? "" : ", ").append(name).append(" (").append(shorten(why)).append(")");
  }
  void add_unnamed(int64_t pods) { more_ += std::max<int64_t>(pods, 0); }
  std::string text() const {
    if (more_ == 0) return text_;
    return text_ + (text_.empty() ? "" : " and ") + std::to_string(more_) + (text_.empty() ? " pods" : " more");
  }

 private:
  static constexpr int kMostNamed = 5;
  static constexpr size_t kLongestReason = 120;

  static std::string shorten(std::string_view why) {
    std::string text(why.substr(0, kLongestReason));
    if (why.size() > kLongestReason) {
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

// "0,2-4" -> whether it lists an index.
bool lists_index(std::string_view ranges, int32_t index) {
  while (!ranges.empty()) {
    const std::string range(ranges.substr(0, ranges.find(',')));
    ranges.remove_prefix(std::min(range.size() + 1, ranges.size()));
    const int32_t first = std::atoi(range.c_str());
    const size_t dash = range.find('-');
    const int32_t last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    if (first <= index && index <= last) return true;
  }
  return false;
}

void add_pods_not_created(const GangJob& gang_job, int64_t pods, MissingList& missing) {
  const Job& job = *gang_job.job;
  if (pods <= 0) return;
  if (!job.indexed || !job.completions)
    return missing.add(pods_text(pods) + " of Job " + job.meta.name, "not created", pods);
  auto place = gang_job.places.lower_bound({0, ""});
  for (int32_t index = 0; index < *job.completions && pods > 0 && !missing.full(); ++index) {
    if (place != gang_job.places.end() && place->first.first == index) {
      ++place;
    } else if (!lists_index(job.status.completed_indexes, index)) {
      missing.add(job.meta.name + "-" + std::to_string(index), "not created");
      --pods;
    }
  }
  missing.add_unnamed(pods);
}

void add_job(const GangJob& gang_job, MissingList& missing) {
  const Job& job = *gang_job.job;
  if (gang_job.filled()) return;
  if (job.suspended)
    return missing.add("Job " + job.meta.name, "suspended, " + pods_text(gang_job.expected()), gang_job.expected());
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

GroupProgress assess(const GangOwner& owner, const Gang* gang, const GroupLedger& ledger) {
  GroupProgress progress;
  progress.expected = pods_of_missing_jobs(owner, gang, progress.blocked);
  if (gang == nullptr) return progress;
  const int64_t attempt = newest_attempt(*gang);
  for (const auto& [token, run] : gang->runs) {
    if (run.attempt == attempt && run.known > 0) add_run(run, token, ledger.verdict(token), progress);
  }
  return progress;
}

std::string missing_pods(const GangOwner& owner, const Gang* gang, const GroupLedger& ledger) {
  std::map<std::string_view, const GangJob*> jobs;
  if (gang != nullptr) {
    for (const auto& [token, run] : gang->runs) {
      if (run.attempt != newest_attempt(*gang)) continue;
      const bool released = ledger.verdict(token) == GroupVerdict::kStarted;
      for (const auto& [uid, job] : run.jobs) {
        if (job.job != nullptr) jobs[job.job->meta.name] = released && !job.job->suspended ? nullptr : &job;
      }
    }
  }
  MissingList missing;
  const auto add = [&](const std::string& name, int64_t pods) {
    const auto found = jobs.find(name);
    if (found == jobs.end()) {
      missing.add("Job " + name, "not created, " + pods_text(pods), pods);
    } else if (found->second != nullptr) {
      add_job(*found->second, missing);
    }
  };
  if (owner.job != nullptr) {
    add(owner.job->meta.name, owner.job->pods_expected());
    return missing.text();
  }
  for (const ReplicatedJob& target : owner.jobset->replicated_jobs) {
    for (int32_t i = 0; target.barrier && i < target.replicas; ++i)
      add(child_job_name(owner.jobset->meta.name, target.name, i), pods_of(target));
  }
  return missing.text();
}

}  // namespace muster
