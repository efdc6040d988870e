// When the scheduler can decide again after an exception: engine/quarantine.h describes the whole.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace muster::engine {

// Not thread-safe.
class SchedulerRest {
 public:
  // It failed over no Workload.
  void failed(MonotonicTime now);
  // It failed over a Workload of this ClusterQueue. True: if this is the third one, and the ClusterQueue is the cause.
  bool failed_over(const std::string& cluster_queue, MonotonicTime now);
  // It was made again. It does not know the admissions of the scheduler before that the watch has not shown yet, and
  // must not give their quota away again.
  void rebuilt(MonotonicTime now);

  // Ends a rest that is over; `all_seen`: no admission is under way. False: it rests.
  bool wake(MonotonicTime now, bool all_seen);
  // The same for a time at which it wants to decide: not before.
  MonotonicTime not_before(MonotonicTime wanted) const;
  // When a rest ends; nullopt: it does not rest.
  std::optional<MonotonicTime> ends() const;

 private:
  std::optional<MonotonicTime> awaits_admissions_until_{};
  MonotonicTime until_{};
  std::map<std::string, int, std::less<>> failed_in_;  // Workloads, by ClusterQueue
};

}  // namespace muster::engine
