#include "forecast/starts/arrival_rates.h"

#include <algorithm>
#include <cmath>

#include "forecast/starts/run_times.h"

namespace muster::starts {
namespace {

double seconds_between(Timestamp from, Timestamp to) {
  return std::max(0.0, static_cast<double>(to.seconds - from.seconds));
}

// An example keeps no data of the Workload that it was made from.
WorkloadPtr example_of(const Workload& workload) {
  Workload example;
  example.meta.ns = workload.meta.ns;
  example.meta.controller = workload.meta.controller;
  example.queue_name = workload.queue_name;
  example.priority = workload.priority;
  example.priority_class = workload.priority_class;
  example.maximum_execution_seconds = workload.maximum_execution_seconds;
  example.pod_sets = workload.pod_sets;
  return std::make_shared<const Workload>(std::move(example));
}

}  // namespace

void ArrivalRates::begin(Timestamp at) {
  if (begun_.is_zero()) begun_ = at;
}

void ArrivalRates::note(const WorkloadPtr& workload, Timestamp now) {
  if (begun_.is_zero() || workload->meta.created < begun_) return;
  Shapes& shapes = queues_[path_of(workload->meta.ns, workload->queue_name)];
  const uint64_t key = shape_of(*workload) ^ (static_cast<uint64_t>(workload->priority) * 0x9E3779B97F4A7C15ULL);
  OfShape& shape = shapes[key];
  if (shape.example == nullptr) shape.example = example_of(*workload);
  shape.weight *= std::exp(-seconds_between(shape.at, now) / kMemory);
  shape.weight += std::exp(-seconds_between(workload->meta.created, now) / kMemory);
  shape.at = now;
  const auto oldest = [](const auto& a, const auto& b) { return a.second.at < b.second.at; };
  if (shapes.size() > kMostShapes) shapes.erase(std::min_element(shapes.begin(), shapes.end(), oldest));
  if (queues_.size() > kMostQueues)
    queues_.erase(std::min_element(queues_.begin(), queues_.end(), [&](const auto& a, const auto& b) {
      const auto latest = [&](const Shapes& all) {
        return std::max_element(all.begin(), all.end(), oldest)->second.at;
      };
      return latest(a.second) < latest(b.second);
    }));
}

std::vector<ArrivalRates::Stream> ArrivalRates::streams(Timestamp now) const {
  std::vector<Stream> streams;
  if (begun_.is_zero()) return streams;
  const double observed = seconds_between(begun_, now);
  // The value of `weight` for one arrival per second.
  const double span = kMemory * (1 - std::exp(-observed / kMemory));
  if (span < 60) return streams;
  for (const auto& [queue, shapes] : queues_) {
    for (const auto& [key, shape] : shapes) {
      const double weight = shape.weight * std::exp(-seconds_between(shape.at, now) / kMemory);
      if (weight > 0.01) streams.push_back({shape.example, weight / span});
    }
  }
  return streams;
}

}  // namespace muster::starts
