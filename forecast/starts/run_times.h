// How long Workloads run: what finished ones of the same LocalQueue and shape have shown, what their jobs say in an
// annotation, and spec.maximumExecutionTimeSeconds, which muster enforces. One thread. Memory is bounded.
//
// A tenant writes the annotation, and it moves the estimates of others. So it counts as much as annotations of its
// LocalQueue have proved right: a run time is drawn as the annotation times a ratio that was observed there. Before
// there are such ratios it cannot leave the run times that were observed anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"

namespace muster::starts {

// The last values that were seen, sorted.
class Sample {
 public:
  static constexpr size_t kMost = 64;
  // Fewer say nothing.
  static constexpr size_t kFewest = 5;

  void add(float value);
  // How far the mean of so few can be from the truth: its standard error, as a share of it.
  double uncertainty() const;
  size_t size() const { return sorted_.size(); }
  bool enough() const { return size() >= kFewest; }
  const std::vector<float>& sorted() const { return sorted_; }

 private:
  std::vector<float> sorted_;
  std::array<float, kMost> recent_{};  // in the order in which they came, from next_ on
  size_t next_ = 0;
};

// The distribution of the next value after n observed ones: each of the n + 1 gaps between them is as likely; within a
// gap it is even, and above the largest one it falls off as a power (Pareto, with exponent kTail).
inline constexpr double kTail = 1.5;
// The share below `value`, and the value below which a share (from 0 to below 1) lies. `sorted` is not empty.
double share_below(const std::vector<float>& sorted, double value);
double value_at(const std::vector<float>& sorted, double share);

enum class RunTimeSource : uint8_t { kUnknown, kMaximum, kAnnotation, kOwnHistory, kOtherHistory };

// What is known of one Workload's run time. Points into a RunTimes, and is valid until that changes.
struct RunTimeGuess {
  RunTimeSource source = RunTimeSource::kUnknown;
  const Sample* observed = nullptr;  // times in seconds, or ratios to `scale`
  double scale = 1;
  std::optional<double> most{};  // seconds

  // Seconds from now on of one that has run for `gone` seconds; `chance` is from 0 to below 1, and what was observed is
  // taken `stretch` times. nullopt: unknown. The longer something has run, the longer it is expected to go on.
  std::optional<double> remaining(double gone, double chance, double stretch = 1) const;
};

// One that has run to its end.
struct FinishedRun {
  std::string local_queue;  // "namespace/name"
  std::string cluster_queue;
  uint64_t shape = 0;
  double seconds = 0;
  std::optional<double> annotated{};  // seconds
};

// What its pods ask for and how many they are.
uint64_t shape_of(const Workload& workload);
// simulate.muster.batch/run-time of a job or Workload, in seconds; nullopt: it has none, or nothing that can be read.
std::optional<double> annotated_seconds(const Labels& annotations);
// From its last admission to its end; nullopt: it has not finished, or its conditions do not say it.
std::optional<FinishedRun> finished_run(const Workload& workload, std::optional<double> annotated);

class RunTimes {
 public:
  static constexpr size_t kMostQueues = 1000;
  static constexpr size_t kMostShapes = 16;  // of one LocalQueue

  void note(const FinishedRun& run);
  RunTimeGuess guess(const Workload& workload, std::string_view cluster_queue, std::optional<double> annotated) const;
  // Finished Workloads of a LocalQueue that are kept.
  size_t known_of(std::string_view local_queue) const;

 private:
  struct OfQueue {
    Sample all;
    Sample ratios;                                             // of run times to their annotations
    std::map<uint64_t, std::pair<Sample, uint64_t>> shapes{};  // with the turn of the last one
    uint64_t last = 0;                                         // turn
  };
  const Sample* history_of(const OfQueue* own, uint64_t shape, std::string_view cluster_queue, bool& is_own) const;

  std::map<std::string, OfQueue, std::less<>> queues_;
  std::map<std::string, std::pair<Sample, uint64_t>, std::less<>> cluster_queues_;
  Sample everywhere_;
  uint64_t turn_ = 0;
};

}  // namespace muster::starts
