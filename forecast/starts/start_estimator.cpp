#include "forecast/starts/start_estimator.h"

#include <algorithm>
#include <cmath>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "scheduler/eligibility.h"

namespace muster::starts {
namespace {

// With fewer courses there is no estimate.
constexpr size_t kFewestCourses = 3;
// From this number on, the range is between starts that were seen; with fewer it is computed from their spread.
constexpr size_t kEnoughCourses = 9;

struct Range {
  double low = 0, high = 0;  // seconds; infinite: beyond
};

// The range in which one more start lies with a probability of 0.8. `starts` are sorted.
Range between_seen(const std::vector<double>& starts) {
  const auto at = [&](double place) {
    const auto index = static_cast<size_t>(place);
    const double low = starts[index - 1];
    const double part = place - static_cast<double>(index);
    if (part == 0 || index == starts.size()) return low;
    return low + (starts[index] - low) * part;
  };
  const double parts = static_cast<double>(starts.size() + 1);
  return {at(0.1 * parts), at(0.9 * parts)};
}

// The same from few starts: the logarithms of waits are assumed to be normal, and Student's t gives the range
// of one more start.
Range from_spread(const std::vector<double>& starts) {
  constexpr double kQuantiles[] = {0, 0, 0, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415};  // of 0.9, by the count
  constexpr double kAside = 5;  // seconds: waits near 0 do not differ much
  const auto count = static_cast<double>(starts.size());
  double mean = 0, squares = 0;
  for (const double start : starts) mean += std::log(start + kAside) / count;
  for (const double start : starts) squares += std::pow(std::log(start + kAside) - mean, 2);
  const double reach = kQuantiles[starts.size()] * std::sqrt(squares / (count - 1) * (1 + 1 / count));
  return {std::max(0.0, std::exp(mean - reach) - kAside), std::exp(mean + reach) - kAside};
}

Range range_of(std::vector<double>& starts) {
  std::sort(starts.begin(), starts.end());
  if (starts.size() >= kEnoughCourses) return between_seen(starts);
  if (std::isfinite(starts.back())) return from_spread(starts);
  return {starts.front(), starts.back()};
}

// The leader has written that no end of another Workload helps it.
bool is_refused_for_good(const Workload& workload) {
  const Condition* reserved = find_condition(workload.status.conditions, kQuotaReservedCondition);
  return reserved != nullptr && !reserved->is_true() &&
         (reserved->reason == kExceedsMaxQuotaReason || reserved->reason == kNoMatchingFlavorReason ||
          reserved->reason == kMisconfiguredReason);
}

class Estimation {
 public:
  Estimation(const StartScene& scene, const QueueHistory& history, const QueueSettings& settings,
             const EstimateOptions& options)
      : scene_(scene),
        run_times_(history.run_times),
        options_(options),
        prepared_(scene, history, settings),
        horizon_(options.horizon) {}

  StartEstimates make() {
    estimates_.at = to_timestamp(scene_.now.wall);
    const auto waits = [](const PreparedScene::Member& member) { return !member.holds; };
    if (std::none_of(prepared_.members().begin(), prepared_.members().end(), waits)) return std::move(estimates_);
    run_courses();
    find_bases();
    for (uint32_t i = 0; i < prepared_.members().size(); ++i) {
      if (!prepared_.members()[i].holds) add(i);
    }
    for (const std::string& path : scene_.left_out)
      estimates_.by_path.emplace(path, StartEstimate{.outcome = StartOutcome::kNotSimulated});
    return std::move(estimates_);
  }

 private:
  double used() const { return options_.cpu_seconds ? options_.cpu_seconds() - began_ : 0; }

  // The first course has a quarter of the time, and its end is the horizon of all courses.
  void run_courses() {
    began_ = options_.cpu_seconds ? options_.cpu_seconds() : 0;
    for (size_t number = 0; number < options_.courses; ++number) {
      const double before = used();
      const double share = number == 0 ? options_.budget / 4 : options_.budget - before;
      if (number >= kFewestCourses && before / static_cast<double>(number) > options_.budget - before) break;
      Course course = run_course(prepared_, options_.seed, number,
                                 {.horizon = horizon_, .may_go_on = [&] { return used() - before < share; }});
      // A course that was cut short, although the first course was not, contains no information.
      if (!course.ended && course.reached < horizon_ && number > 0) break;
      if (!course.ended) horizon_ = std::min(horizon_, course.reached);
      courses_.push_back(std::move(course));
    }
    if (options_.made != nullptr) *options_.made = courses_.size();
  }

  void find_bases() {
    bases_.resize(prepared_.trees());
    unknown_.resize(prepared_.trees());
    for (const PreparedScene::Member& member : prepared_.members()) {
      StartBasis& basis = bases_[member.tree];
      switch (member.run_time.source) {
        case RunTimeSource::kUnknown:
          unknown_[member.tree] = true;
          break;
        case RunTimeSource::kMaximum:
          basis.maximum_times = true;
          break;
        case RunTimeSource::kAnnotation:
          basis.annotations = true;
          break;
        case RunTimeSource::kOwnHistory:
        case RunTimeSource::kOtherHistory:
          basis.history = true;
          break;
      }
    }
  }

  void add(uint32_t index) {
    const PreparedScene::Member& member = prepared_.members()[index];
    StartEstimate estimate{.outcome = StartOutcome::kNotSimulated};
    estimate.basis = bases_[member.tree];
    if (estimate.basis.history)
      estimate.basis.finished =
          static_cast<uint32_t>(run_times_.known_of(path_of(member.workload->meta.ns, member.workload->queue_name)));
    if (courses_.size() >= kFewestCourses) judge(index, estimate);
    estimates_.by_path.emplace(path_of(member.workload->meta), estimate);
  }

  Timestamp after(double seconds) const {
    Timestamp time = estimates_.at;
    time.seconds += std::llround(seconds);
    time.nanoseconds = 0;
    return time;
  }

  void judge(uint32_t index, StartEstimate& estimate) const {
    std::vector<double> starts;
    bool ended = true;  // wherever it did not start
    for (const Course& course : courses_) {
      const int64_t start = course.starts[index];
      const bool seen = start != kNoStart && start <= horizon_.count();
      starts.push_back(seen ? static_cast<double>(start) / 1e9 : std::numeric_limits<double>::infinity());
      if (!seen) ended = ended && course.ended && start == kNoStart;
    }
    const Range range = range_of(starts);
    if (std::isfinite(range.high)) {
      estimate.outcome = StartOutcome::kRange;
      estimate.earliest = after(std::floor(range.low));
      estimate.latest = after(std::ceil(range.high));
    } else if (std::isfinite(range.low)) {
      estimate.outcome = StartOutcome::kNotBefore;
      estimate.earliest = after(std::floor(range.low));
    } else if (const PreparedScene::Member& member = prepared_.members()[index];
               member.stopped || is_refused_for_good(*member.workload)) {
      estimate.outcome = StartOutcome::kNoStart;
    } else if (unknown_[member.tree]) {
      estimate.outcome = StartOutcome::kRunTimesUnknown;
    } else if (ended) {
      estimate.outcome = StartOutcome::kNoStart;
    } else {
      estimate.outcome = StartOutcome::kBeyondHorizon;
      estimate.earliest = after(std::chrono::duration<double>(horizon_).count());
    }
  }

  const StartScene& scene_;
  const RunTimes& run_times_;
  const EstimateOptions& options_;
  const PreparedScene prepared_;
  Duration horizon_;
  double began_ = 0;
  std::vector<Course> courses_;
  std::vector<StartBasis> bases_;  // by tree
  std::vector<bool> unknown_;      // by tree: the run time of one of its Workloads is unknown
  StartEstimates estimates_;
};

}  // namespace

StartEstimates estimate_starts(StartScene scene, const QueueHistory& history, const QueueSettings& settings,
                               const EstimateOptions& options) {
  keep_first(scene, options.most_workloads);
  return Estimation(scene, history, settings, options).make();
}

}  // namespace muster::starts
