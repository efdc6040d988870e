#include "test/world/leases.h"

namespace muster::world {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLeaseDuration = seconds(15);
constexpr Duration kRenewDeadline = seconds(10);
constexpr Duration kRetryPeriod = seconds(2);

}  // namespace

void Leases::add(Candidate candidate) {
  candidates_.push_back(std::move(candidate));
  const int replica = static_cast<int>(candidates_.size()) - 1;
  timeline_.after(milliseconds(100) * replica, [this, replica] { tick(replica); });
}

bool Leases::taken_by_other(int replica) const {
  if (holder_ < 0 || timeline_.time() - renewed_ >= kLeaseDuration) return false;
  return holder_ != replica || incarnation_ != candidates_[replica].incarnation();
}

void Leases::tick(int replica) {
  const Candidate& candidate = candidates_[replica];
  const uint64_t incarnation = candidate.incarnation();
  const bool is_holder = holder_ == replica && incarnation_ == incarnation && incarnation != 0;
  if (is_holder && leading_) {
    if (candidate.connected()) {
      renewed_ = timeline_.time();
    } else if (timeline_.time() - renewed_ >= kRenewDeadline) {
      leading_ = false;
      candidate.lead(false);
    }
  } else if (incarnation != 0 && candidate.connected() && candidate.takes_part() && !taken_by_other(replica) &&
             (favourite_ == -2 || favourite_ == replica)) {
    holder_ = replica;
    incarnation_ = incarnation;
    renewed_ = timeline_.time();
    leading_ = true;
    if (favourite_ >= 0) favourite_ = -2;
    candidate.lead(true);
  }
  timeline_.after(kRetryPeriod + chance_.between(Duration(0), milliseconds(400)), [this, replica] { tick(replica); });
}

void Leases::release(int replica) {
  if (holder_ != replica) return;
  const bool was_leading = leading_ && candidates_[replica].incarnation() == incarnation_;
  holder_ = -1;
  leading_ = false;
  if (was_leading) candidates_[replica].lead(false);
}

void Leases::elect(int replica) {
  favourite_ = replica;
  if (holder_ >= 0 && holder_ != replica) release(holder_);
}

std::optional<MonotonicTime> Leases::leads_until(int replica) const {
  return holder() == replica ? std::optional(renewed_ + kRenewDeadline) : std::nullopt;
}

int Leases::holder() const {
  if (holder_ < 0 || !leading_) return -1;
  return candidates_[holder_].incarnation() == incarnation_ ? holder_ : -1;
}

}  // namespace muster::world
