#include "forecast/starts/run_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "api/workload_conditions.h"
#include "forecast/annotations.h"

namespace muster::starts {
namespace {

constexpr std::string_view kRunTimeAnnotation = "simulate.muster.batch/run-time";
constexpr double kShortest = 1;  // seconds
// For annotations without an observation: the ratios of run times to them.
const Sample& usual_ratios() {
  static const Sample usual = [] {
    Sample ratios;
    for (const float ratio : {0.2F, 0.4F, 0.6F, 0.8F, 0.9F, 1.0F, 1.1F, 1.3F, 1.8F, 3.0F}) ratios.add(ratio);
    return ratios;
  }();
  return usual;
}
// The longest value of an annotation if no run time was observed.
constexpr double kLongestUnproved = 24 * 3600;

void mix(uint64_t& hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  hash ^= hash >> 29;
}

void mix(uint64_t& hash, std::string_view text) {
  mix(hash, std::hash<std::string_view>()(text));
}

// Makes space in a map whose values have a turn: removes the value with the oldest use.
template <class Map, class Turn>
void keep_at_most(Map& map, size_t most, Turn turn) {
  if (map.size() <= most) return;
  map.erase(std::min_element(map.begin(), map.end(),
                             [&](const auto& a, const auto& b) { return turn(a.second) < turn(b.second); }));
}

}  // namespace

void Sample::add(float value) {
  if (sorted_.size() == kMost) sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), recent_[next_]));
  recent_[next_] = value;
  next_ = (next_ + 1) % kMost;
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
}

double Sample::uncertainty() const {
  if (sorted_.size() < 2) return 0;
  double sum = 0, squares = 0;
  for (const float value : sorted_) sum += value;
  const auto count = static_cast<double>(sorted_.size());
  const double mean = sum / count;
  for (const float value : sorted_) squares += (value - mean) * (value - mean);
  return mean <= 0 ? 0 : std::sqrt(squares / (count - 1) / count) / mean;
}

double share_below(const std::vector<float>& sorted, double value) {
  const double parts = static_cast<double>(sorted.size() + 1);
  const auto above = std::upper_bound(sorted.begin(), sorted.end(), value);
  const auto index = static_cast<double>(above - sorted.begin());
  if (above == sorted.end()) return 1 - std::pow(value / std::max<double>(sorted.back(), kShortest), -kTail) / parts;
  const double low = above == sorted.begin() ? 0 : *(above - 1);
  return (index + std::clamp((value - low) / (*above - low), 0.0, 1.0)) / parts;
}

double value_at(const std::vector<float>& sorted, double share) {
  const double parts = static_cast<double>(sorted.size() + 1);
  const double place = share * parts;
  const auto index = static_cast<size_t>(place);
  if (index >= sorted.size())
    return std::max<double>(sorted.back(), kShortest) * std::pow((1 - share) * parts, -1 / kTail);
  const double low = index == 0 ? 0 : sorted[index - 1];
  return low + (sorted[index] - low) * (place - static_cast<double>(index));
}

std::optional<double> RunTimeGuess::remaining(double gone, double chance, double stretch) const {
  std::optional<double> left;
  if (observed != nullptr) {
    const double unit = scale * stretch;
    const double past = share_below(observed->sorted(), gone / unit);
    left = value_at(observed->sorted(), past + chance * (1 - past)) * unit - gone;
  } else if (most) {
    left = chance * (*most - gone);
  }
  if (!left) return std::nullopt;
  if (most) left = std::min(*left, *most - gone);
  return std::max(*left, kShortest);
}

uint64_t shape_of(const Workload& workload) {
  uint64_t hash = 0;
  const auto mix_list = [&](const ResourceList& list) {
    for (const auto& [resource, quantity] : list) {
      mix(hash, resource);
      mix(hash, quantity.text());
    }
  };
  for (const PodSet& pod_set : workload.pod_sets) {
    mix(hash, static_cast<uint64_t>(pod_set.count));
    if (pod_set.pod_template.spec == nullptr) continue;
    for (const ContainerSpec& container : pod_set.pod_template.spec->containers) {
      mix_list(container.resources.requests);
      mix_list(container.resources.limits);
    }
  }
  return hash;
}

std::optional<double> annotated_seconds(const Labels& annotations) {
  const auto found = annotations.find(kRunTimeAnnotation);
  if (found == annotations.end()) return std::nullopt;
  const auto span = forecast::parse_span(found->second);
  if (!span) return std::nullopt;
  return std::max(std::chrono::duration<double>(*span).count(), kShortest);
}

std::optional<FinishedRun> finished_run(const Workload& workload, std::optional<double> annotated) {
  const Condition* finished = find_condition(workload.status.conditions, kFinishedCondition);
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  if (finished == nullptr || !finished->is_true() || admitted == nullptr || !admitted->is_true() ||
      !workload.status.admission || admitted->last_transition.is_zero() ||
      finished->last_transition < admitted->last_transition)
    return std::nullopt;
  return FinishedRun{
      .local_queue = path_of(workload.meta.ns, workload.queue_name),
      .cluster_queue = workload.status.admission->cluster_queue,
      .shape = shape_of(workload),
      .seconds = static_cast<double>(finished->last_transition.seconds - admitted->last_transition.seconds),
      .annotated = annotated};
}

void RunTimes::note(const FinishedRun& run) {
  const auto seconds = static_cast<float>(std::max(run.seconds, 0.0));
  ++turn_;
  OfQueue& own = queues_[run.local_queue];
  own.last = turn_;
  own.all.add(seconds);
  if (run.annotated) own.ratios.add(static_cast<float>(seconds / *run.annotated));
  auto& [of_shape, turn] = own.shapes[run.shape];
  of_shape.add(seconds);
  turn = turn_;
  keep_at_most(own.shapes, kMostShapes, [](const auto& shape) { return shape.second; });
  keep_at_most(queues_, kMostQueues, [](const OfQueue& queue) { return queue.last; });
  auto& [of_queue, queue_turn] = cluster_queues_[run.cluster_queue];
  of_queue.add(seconds);
  queue_turn = turn_;
  keep_at_most(cluster_queues_, kMostQueues, [](const auto& queue) { return queue.second; });
  everywhere_.add(seconds);
}

const Sample* RunTimes::history_of(const OfQueue* own, uint64_t shape, std::string_view cluster_queue,
                                   bool& is_own) const {
  is_own = own != nullptr;
  if (own != nullptr) {
    const auto of_shape = own->shapes.find(shape);
    if (of_shape != own->shapes.end() && of_shape->second.first.enough()) return &of_shape->second.first;
    if (own->all.enough()) return &own->all;
  }
  is_own = false;
  const auto of_queue = cluster_queues_.find(cluster_queue);
  if (of_queue != cluster_queues_.end() && of_queue->second.first.enough()) return &of_queue->second.first;
  return everywhere_.enough() ? &everywhere_ : nullptr;
}

RunTimeGuess RunTimes::guess(const Workload& workload, std::string_view cluster_queue,
                             std::optional<double> annotated) const {
  RunTimeGuess guess;
  if (const auto left_at_admission = execution_time_left(workload, Duration::zero()))
    guess.most = std::chrono::duration<double>(*left_at_admission).count();
  const auto found = queues_.find(path_of(workload.meta.ns, workload.queue_name));
  const OfQueue* own = found == queues_.end() ? nullptr : &found->second;
  bool is_own = false;
  const Sample* history = history_of(own, shape_of(workload), cluster_queue, is_own);
  if (annotated) {
    const bool proved = own != nullptr && own->ratios.enough();
    guess.source = RunTimeSource::kAnnotation;
    guess.observed = proved ? &own->ratios : &usual_ratios();
    guess.scale = *annotated;
    if (!proved)
      guess.scale = history == nullptr
                        ? std::min(*annotated, kLongestUnproved)
                        : std::clamp<double>(*annotated, std::max<double>(history->sorted().front(), kShortest),
                                             std::max<double>(history->sorted().back(), kShortest));
  } else if (history != nullptr && (is_own || !guess.most)) {
    guess.source = is_own ? RunTimeSource::kOwnHistory : RunTimeSource::kOtherHistory;
    guess.observed = history;
  } else if (guess.most) {
    guess.source = RunTimeSource::kMaximum;
  }
  return guess;
}

size_t RunTimes::known_of(std::string_view local_queue) const {
  const auto found = queues_.find(local_queue);
  return found == queues_.end() ? 0 : found->second.all.size();
}

}  // namespace muster::starts
