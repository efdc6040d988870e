// How often Workloads come: by LocalQueue and shape, as observed in the last hours. A course lets more of them come as
// often, since whoever comes later with a higher priority, or into another queue of the Cohort, can start earlier.
// One thread. Memory is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/meta/object_pointers.h"
#include "api/meta/time.h"

namespace muster::starts {

class ArrivalRates {
 public:
  static constexpr size_t kMostQueues = 1000;
  static constexpr size_t kMostShapes = 16;  // of one LocalQueue
  // What is so old counts a third.
  static constexpr double kMemory = 6 * 3600;  // seconds

  // Since when arrivals are observed. Before it is called there are none.
  void begin(Timestamp at);
  // One of a shape and priority, as an example for all of it. Each Workload once; `now` is not before its creation.
  void note(const WorkloadPtr& workload, Timestamp now);

  struct Stream {
    WorkloadPtr example;
    double per_second = 0;
  };
  // By LocalQueue and shape.
  std::vector<Stream> streams(Timestamp now) const;

 private:
  struct OfShape {
    WorkloadPtr example;
    double weight = 0;  // of its arrivals at `at`
    Timestamp at{};
  };
  using Shapes = std::map<uint64_t, OfShape>;

  std::map<std::string, Shapes, std::less<>> queues_;  // by "namespace/name"
  Timestamp begun_{};
};

}  // namespace muster::starts
