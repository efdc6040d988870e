// Leader election by a Lease: what to do next, given what was seen and when. Pure; the
// thread that does it is kube/leases/leader_election.h.
//
// The rules of client-go's tools/leaderelection, so that muster shares a lease with
// anything that follows them. No clock of another machine is ever believed: a record
// counts as held for its own duration after *this* process saw it change. A leader
// counts from before it sent its last successful renewal, for renew_deadline only. So
// two leaders never overlap as long as no clock runs faster than another by more than
// duration / renew_deadline (1.5 by default).
//
// Three things are stricter than there. Each new resourceVersion counts as a change, so
// that a holder whose wall clock stands still keeps its lease. A deleted lease counts
// as held until its expiry. And a leader that reads another holder's name stops at
// once.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/leases/lease_record.h"

namespace muster::kube {

struct LeaseOptions {
  Duration duration = std::chrono::seconds(15);        // others wait this long for a leader that does not renew
  Duration renew_deadline = std::chrono::seconds(10);  // a leader that cannot renew stops leading
  Duration retry_period = std::chrono::seconds(2);     // between two attempts
};

// Whether these can work: whole seconds of duration, duration > renew_deadline >
// 1.2 retry_period > 0. The error names the field of `leaderElection`.
Outcome<> check(const LeaseOptions& options);

struct LeaseStep {
  enum class Kind {
    kWait,    // for `time`
    kRead,    // the lease
    kCreate,  // it, holding `record`
    kUpdate,  // to `record`, only if it still has record.version
    kDone,    // after resign(): nothing is left to do
  };
  Kind kind = Kind::kWait;
  LeaseRecord record{};
  Duration time{};  // to wait, or the most that the request can take
};

// The candidate's part: ask next(), do the step, report what came of it, ask again.
// Not thread-safe.
class LeasePolicy {
 public:
  // A candidate waits retry_period times 1 to 1 + this, so that candidates spread.
  static constexpr double kJitter = 1.2;

  // `identity` names this process and no other, ever: another start, another name.
  LeasePolicy(LeaseOptions options, std::string identity);

  // `random` is in [0, 1).
  LeaseStep next(Now now, double random);

  // What came of the last step; `now` is when its answer was there.
  void found(LeaseRecord record, MonotonicTime now);  // read
  void missing();                                     // read: there is no such lease
  // Created or updated, as the server answered it; `sent` is from before the request.
  void written(LeaseRecord record, MonotonicTime sent, MonotonicTime now);
  void refused(MonotonicTime now);  // create or update: another client was faster
  void failed(MonotonicTime now);   // anything else; a write has possibly come through

  // Stops leading at once; the steps that follow empty the lease, if it can be ours,
  // and end with kDone.
  void resign();

  bool leading(MonotonicTime now) const { return valid_until_ && now < *valid_until_; }
  // While leading, when that ends unless it is renewed before; else nullopt.
  std::optional<MonotonicTime> valid_until(MonotonicTime now) const;
  // Until when the last known leader counts as one, this process or another; nullopt: there was none.
  std::optional<MonotonicTime> led_until() const {
    return seen_.holder.empty() ? std::nullopt : std::optional(seen_changed_ + held_for());
  }
  // The last known leader; empty: no leader, or no lease was read yet.
  const std::string& holder() const { return seen_.holder; }

 private:
  enum class Knowledge { kStale, kFound, kMissing };  // about the lease, since the last attempt

  LeaseStep next_of_leader(Now now);
  LeaseStep next_of_candidate(Now now, double random);
  LeaseStep next_of_resigned(Now now);
  LeaseStep request(LeaseStep::Kind kind, MonotonicTime now) const;
  LeaseStep take_over(Now now);
  bool held_by_another(MonotonicTime now) const;
  Duration held_for() const;

  const LeaseOptions options_;
  const std::string identity_;

  LeaseRecord seen_{};
  MonotonicTime seen_changed_{};  // by our clock, when its version became known
  Knowledge knowledge_ = Knowledge::kStale;
  std::optional<MonotonicTime> valid_until_;
  std::optional<MonotonicTime> not_before_;  // the next attempt
  bool may_hold_ = false;                    // a write in our name has possibly come through, or still can
  std::string written_over_;                 // the version that it is to replace
  bool refused_before_ = false;
  bool resigned_ = false;
  int release_steps_ = 0;
};

}  // namespace muster::kube
