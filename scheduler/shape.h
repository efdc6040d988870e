// Workloads of one shape get the same answer from the same state: the requests of their pods, their number, tolerations
// and affinity, their priority, and the flavors that have failed for them. One refusal of a shape parks all of it, so a
// queue of a thousand equal jobs costs one evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/pod_spec.h"
#include "scheduler/quota/names.h"

namespace muster::scheduler {

class Capacity;
struct WorkloadState;

// A digest; equal shapes have equal digests.
struct Shape {
  uint64_t high = 0;
  uint64_t low = 0;

  bool operator==(const Shape&) const = default;
};
struct ShapeHash {
  size_t operator()(const Shape& shape) const { return shape.low; }
};

// Pod templates are shared by many Workloads, so the relevant fields of each are read once.
class Shapes {
 public:
  explicit Shapes(const Capacity& capacity) : capacity_(capacity) {}

  Shape shape_of(const WorkloadState& workload);

 private:
  const std::string& digest_of(const PodSpecPtr& spec);

  struct Known {
    std::weak_ptr<const PodSpec> spec;
    std::string digest;
  };
  const Capacity& capacity_;
  // Only looked up and swept, so the order of addresses has no effect.
  std::unordered_map<const PodSpec*, Known> specs_;
  size_t sweep_at_ = 1024;
};

}  // namespace muster::scheduler
