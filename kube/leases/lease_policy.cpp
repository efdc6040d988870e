#include "kube/leases/lease_policy.h"

#include <algorithm>

namespace muster::kube {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

// A release that meets conflicts gives up: the lease runs out by itself.
constexpr int kMaxReleaseSteps = 5;
// As in client-go: a lease without a holder is free at once, with any duration.
constexpr Duration kReleasedDuration = seconds(1);

Duration jittered(Duration period, double random) {
  return period + duration_cast<Duration>(period * (LeasePolicy::kJitter * random));
}

}  // namespace

Outcome<> check(const LeaseOptions& options) {
  if (options.duration < seconds(1) || options.duration % seconds(1) != Duration::zero()) {
    return fail("leaderElection.leaseDuration must be whole seconds, at least one, because a Lease counts in them");
  }
  if (options.duration <= options.renew_deadline) {
    return fail(
        "leaderElection.leaseDuration must be greater than renewDeadline, or a new leader starts before the old one "
        "has given up");
  }
  if (options.retry_period <= Duration::zero()) return fail("leaderElection.retryPeriod must be greater than 0");
  if (options.renew_deadline <= duration_cast<Duration>(options.retry_period * LeasePolicy::kJitter)) {
    return fail(
        "leaderElection.renewDeadline must be greater than 1.2 times retryPeriod, or one lost renewal loses the "
        "leadership");
  }
  return Done{};
}

LeasePolicy::LeasePolicy(LeaseOptions options, std::string identity)
    : options_(options), identity_(std::move(identity)) {}

std::optional<MonotonicTime> LeasePolicy::valid_until(MonotonicTime now) const {
  return leading(now) ? valid_until_ : std::nullopt;
}

LeaseStep LeasePolicy::next(Now now, double random) {
  if (resigned_) return next_of_resigned(now);
  if (valid_until_ && !leading(now.monotonic)) {
    valid_until_.reset();
    knowledge_ = Knowledge::kStale;
  }
  if (not_before_ && now.monotonic < *not_before_) {
    const MonotonicTime until = valid_until_ ? std::min(*not_before_, *valid_until_) : *not_before_;
    return {LeaseStep::Kind::kWait, {}, until - now.monotonic};
  }
  not_before_.reset();
  return valid_until_ ? next_of_leader(now) : next_of_candidate(now, random);
}

LeaseStep LeasePolicy::request(LeaseStep::Kind kind, MonotonicTime now) const {
  Duration time = options_.renew_deadline / 2;
  if (valid_until_) time = std::min(time, *valid_until_ - now);
  return {kind, {}, time};
}

LeaseStep LeasePolicy::next_of_leader(Now now) {
  return knowledge_ == Knowledge::kStale ? request(LeaseStep::Kind::kRead, now.monotonic) : take_over(now);
}

LeaseStep LeasePolicy::next_of_candidate(Now now, double random) {
  if (knowledge_ == Knowledge::kStale) return request(LeaseStep::Kind::kRead, now.monotonic);
  if (!held_by_another(now.monotonic)) return take_over(now);
  knowledge_ = Knowledge::kStale;
  const Duration rest = seen_changed_ + held_for() - now.monotonic;
  const Duration wait = std::min(jittered(options_.retry_period, random), rest);
  not_before_ = now.monotonic + wait;
  return {LeaseStep::Kind::kWait, {}, wait};
}

Duration LeasePolicy::held_for() const {
  return seen_.duration > Duration::zero() ? seen_.duration : options_.duration;
}

bool LeasePolicy::held_by_another(MonotonicTime now) const {
  return !seen_.holder.empty() && seen_.holder != identity_ && now < seen_changed_ + held_for();
}

// The write that takes or keeps the lease.
LeaseStep LeasePolicy::take_over(Now now) {
  const bool missing = knowledge_ == Knowledge::kMissing;
  const bool ours = seen_.holder == identity_;
  LeaseStep step = request(missing ? LeaseStep::Kind::kCreate : LeaseStep::Kind::kUpdate, now.monotonic);
  const Timestamp stamp = to_timestamp(now.wall);
  step.record = {.holder = identity_,
                 .version = missing ? "" : seen_.version,
                 .duration = options_.duration,
                 .acquired = ours ? seen_.acquired : stamp,
                 .renewed = stamp,
                 .transitions = seen_.transitions + (ours || seen_.version.empty() ? 0 : 1)};
  may_hold_ = true;
  written_over_ = step.record.version;
  return step;
}

LeaseStep LeasePolicy::next_of_resigned(Now now) {
  const bool known_not_ours =
      knowledge_ == Knowledge::kMissing || (knowledge_ == Knowledge::kFound && seen_.holder != identity_);
  if (!may_hold_ || known_not_ours || ++release_steps_ > kMaxReleaseSteps) return {LeaseStep::Kind::kDone, {}, {}};
  LeaseStep step{LeaseStep::Kind::kRead, {}, options_.retry_period};
  if (knowledge_ == Knowledge::kStale) return step;
  step.kind = LeaseStep::Kind::kUpdate;
  const Timestamp stamp = to_timestamp(now.wall);
  step.record = {.holder = "",
                 .version = seen_.version,
                 .duration = kReleasedDuration,
                 .acquired = stamp,
                 .renewed = stamp,
                 .transitions = seen_.transitions};
  return step;
}

void LeasePolicy::found(LeaseRecord record, MonotonicTime now) {
  if (record.version != seen_.version) seen_changed_ = now;
  seen_ = std::move(record);
  knowledge_ = Knowledge::kFound;
  if (seen_.holder == identity_) return;
  valid_until_.reset();
  // A write without an answer can still reach the server until another client writes after it.
  if (seen_.version != written_over_) may_hold_ = false;
}

void LeasePolicy::missing() {
  knowledge_ = Knowledge::kMissing;
}

void LeasePolicy::written(LeaseRecord record, MonotonicTime sent, MonotonicTime now) {
  found(std::move(record), now);
  refused_before_ = false;
  if (resigned_ || seen_.holder != identity_) return;
  not_before_ = now + options_.retry_period;
  valid_until_ = sent + options_.renew_deadline;
  if (leading(now)) return;
  // The answer took too long to be useful: renew at once.
  valid_until_.reset();
  not_before_.reset();
}

void LeasePolicy::refused(MonotonicTime now) {
  knowledge_ = Knowledge::kStale;
  // The lease is read at once to see the new holder; but a server that refuses every request must not get
  // requests without a delay.
  if (std::exchange(refused_before_, !refused_before_)) not_before_ = now + options_.retry_period;
}

void LeasePolicy::failed(MonotonicTime now) {
  knowledge_ = Knowledge::kStale;
  not_before_ = now + options_.retry_period;
  if (resigned_) release_steps_ = kMaxReleaseSteps;
}

void LeasePolicy::resign() {
  resigned_ = true;
  valid_until_.reset();
}

}  // namespace muster::kube
