// What must hold of requeueing in every state of every run:
//
//   grows           the n-th backoff lasts base * 2^(n-1) at least, or the longest that is configured
//   not too early   a Workload gets no quota before its status.requeueState.requeueAt
//
// It looks at what the API server stores, and knows nothing of muster's timers. A clock that is set forwards can end a
// backoff early, also if it is set back later: muster counts from the moment at which it began to wait. A clock that
// runs fast ends it early by as much as it runs fast.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/config/queue_settings.h"
#include "api/meta/object_pointers.h"
#include "test/world/api_server.h"

namespace muster::world {

class BackoffInvariants {
 public:
  // The timeline must outlive it; `clock_skew`: see Faults; `violated` takes a sentence.
  BackoffInvariants(const Timeline& timeline, const RequeuingStrategy& strategy, double clock_skew,
                    std::function<void(std::string)> violated)
      : timeline_(timeline), strategy_(strategy), clock_skew_(clock_skew), violated_(std::move(violated)) {}

  void see(const Change& change);
  void clock_was_set();

 private:
  struct Backoff {
    Timestamp until;
    Duration elapsed_from{};
    Duration elapsed_until{};  // the earliest of it by the other clock, since it was set
  };
  Duration ends_at(Timestamp until) const;
  void check_length(const Workload& workload);
  void check_return(const Workload& workload);

  const Timeline& timeline_;
  const RequeuingStrategy strategy_;
  const double clock_skew_;
  std::function<void(std::string)> violated_;
  std::map<std::string, Backoff> backoffs_;  // by the Workload's uid
};

}  // namespace muster::world
