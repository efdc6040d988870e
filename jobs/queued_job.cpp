#include "jobs/queued_job.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"

namespace muster {
namespace {

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "0,2-4" as ranges; what is no number or range is left out.
void read_indexes(std::string_view text, std::vector<std::pair<int32_t, int32_t>>& ranges) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    const size_t dash = item.find('-');
    const auto first = whole_number<int32_t>(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number<int32_t>(item.substr(dash + 1));
    if (first && last) ranges.emplace_back(*first, *last);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

// How many indexes are in at least one of the lists.
int64_t count_indexes(const JobStatus& status) {
  std::vector<std::pair<int32_t, int32_t>> ranges;
  read_indexes(status.completed_indexes, ranges);
  read_indexes(status.failed_indexes, ranges);
  std::sort(ranges.begin(), ranges.end());
  int64_t count = 0;
  int64_t next = 0;
  for (const auto& [first, last] : ranges) {
    const int64_t from = std::max<int64_t>(first, next);
    if (last < from) continue;
    count += last - from + 1;
    next = int64_t{last} + 1;
  }
  return count;
}

int32_t pods_of(const Job& job) {
  return pods_at_once(job.parallelism, job.completions);
}

int32_t saturated(int64_t count) {
  return static_cast<int32_t>(std::clamp<int64_t>(count, 0, std::numeric_limits<int32_t>::max()));
}

// The largest count stands for all that are larger: no quota has place for it.
int32_t pods_of(const ReplicatedJob& replicated) {
  return saturated(int64_t{replicated.replicas} * pods_at_once(replicated.parallelism, replicated.completions));
}

std::vector<ReclaimablePod> reclaimable_of(const Job& job) {
  const int64_t pods = pods_of(job);
  const int64_t ended = job.indexed ? count_indexes(job.status) : job.status.succeeded;
  if (pods <= 1 || ended == 0) return {};
  const int64_t remaining = std::max<int64_t>(job.completions.value_or(job.parallelism) - ended, 0);
  if (remaining >= pods) return {};
  return {{.name = "main", .count = static_cast<int32_t>(pods - remaining)}};
}

const ReplicatedJobStatus* status_of(const JobSet& jobset, std::string_view replicated_job) {
  const auto& statuses = jobset.status.replicated_jobs;
  const auto found = std::find_if(statuses.begin(), statuses.end(),
                                  [&](const ReplicatedJobStatus& status) { return status.name == replicated_job; });
  return found == statuses.end() ? nullptr : &*found;
}

std::vector<ReclaimablePod> reclaimable_of(const JobSet& jobset) {
  std::vector<ReclaimablePod> pods;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    const ReplicatedJobStatus* status = status_of(jobset, replicated.name);
    if (status == nullptr || status->succeeded <= 0 || status->succeeded > replicated.replicas) continue;
    const int32_t per_job = pods_at_once(replicated.parallelism, replicated.completions);
    pods.push_back({.name = replicated.name, .count = saturated(int64_t{status->succeeded} * per_job)});
  }
  return pods;
}

// Jobs, not pods, are what a JobSet counts.
bool all_jobs_ready(const JobSet& jobset) {
  int64_t wanted = 0;
  int64_t ready = 0;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) wanted += replicated.replicas;
  for (const ReplicatedJobStatus& status : jobset.status.replicated_jobs) ready += status.ready + status.succeeded;
  return wanted == ready;
}

std::optional<JobEnd> end_by(const Conditions& conditions, std::string_view success, std::string_view failure) {
  for (const Condition& condition : conditions) {
    if (!condition.is_true() || (condition.type != success && condition.type != failure)) continue;
    return JobEnd{.success = condition.type == success, .message = condition.message};
  }
  return std::nullopt;
}

}  // namespace

std::string_view QueuedJob::queue_name() const {
  return meta().label(kQueueNameLabel);
}

std::string_view QueuedJob::priority_class() const {
  return meta().label(kPriorityClassLabel);
}

std::optional<int32_t> QueuedJob::maximum_execution_seconds() const {
  const auto seconds = whole_number<int32_t>(meta().label(kMaxExecTimeLabel));
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

bool QueuedJob::elastic(const RuleSettings& settings) const {
  return meta().annotation(kElasticJobAnnotation) == "true" && settings.enabled("ElasticJobsViaWorkloadSlices");
}

bool QueuedJob::readable() const {
  if (job_ != nullptr) return job_->pod_template.spec != nullptr;
  return std::all_of(jobset_->replicated_jobs.begin(), jobset_->replicated_jobs.end(),
                     [](const ReplicatedJob& replicated) { return replicated.pod_template.spec != nullptr; });
}

bool QueuedJob::stopping() const {
  return job_ != nullptr && job_->meta.annotation(kStoppingAnnotation) == "true";
}

bool QueuedJob::active() const {
  if (job_ != nullptr) return job_->status.active != 0;
  const auto& statuses = jobset_->status.replicated_jobs;
  return std::any_of(statuses.begin(), statuses.end(),
                     [](const ReplicatedJobStatus& status) { return status.active > 0; });
}

bool QueuedJob::pods_ready() const {
  if (jobset_ != nullptr) return all_jobs_ready(*jobset_);
  const JobStatus& status = job_->status;
  return int64_t{status.succeeded} + status.ready + status.uncounted_succeeded >= pods_of(*job_);
}

std::optional<JobEnd> QueuedJob::end() const {
  if (job_ != nullptr) return end_by(job_->status.conditions, "Complete", "Failed");
  if (auto completed = end_by(jobset_->status.conditions, "Completed", "Completed")) return completed;
  return end_by(jobset_->status.conditions, "", "Failed");
}

std::vector<ReclaimablePod> QueuedJob::reclaimable_pods() const {
  return job_ != nullptr ? reclaimable_of(*job_) : reclaimable_of(*jobset_);
}

bool QueuedJob::start_time_is_in_the_way() const {
  return has_start_time() && !condition_is_true(job_->status.conditions, "Suspended");
}

std::optional<int32_t> QueuedJob::min_count() const {
  return job_ == nullptr ? std::nullopt : whole_number<int32_t>(meta().annotation(kMinParallelismAnnotation));
}

bool QueuedJob::completions_follow_parallelism() const {
  const auto follow = go_parse_bool(meta().annotation(kCompletionsEqualParallelismAnnotation));
  return follow && *follow;
}

std::vector<PodSet> QueuedJob::pod_set_shapes(const RuleSettings& settings) const {
  std::vector<PodSet> pod_sets;
  if (job_ != nullptr) {
    pod_sets.push_back({.name = "main",
                        .count = pods_of(*job_),
                        .min_count = settings.enabled("PartialAdmission") ? min_count() : std::nullopt,
                        .pod_template = job_->pod_template,
                        .topology_request_text = {},
                        .asks_for_topology = false});
    return pod_sets;
  }
  for (const ReplicatedJob& replicated : jobset_->replicated_jobs) {
    pod_sets.push_back({.name = replicated.name,
                        .count = pods_of(replicated),
                        .min_count = std::nullopt,
                        .pod_template = replicated.pod_template,
                        .topology_request_text = {},
                        .asks_for_topology = false});
  }
  return pod_sets;
}

}  // namespace muster
