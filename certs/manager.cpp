#include "certs/manager.h"

#include <algorithm>

namespace muster::certs {
namespace {

constexpr Duration kLongestPoll = std::chrono::seconds(10);
constexpr Duration kShortestWait = std::chrono::milliseconds(50);
constexpr Duration kRetry = std::chrono::seconds(1);
// Enough for a restore, a renewal and a lost race in one tick; a store in which another process keeps writing must not
// hold the caller.
constexpr int kMaxSteps = 5;

bool same_certificates(std::string_view left, std::string_view right) {
  return left == right || (bundle_contains(left, right) && bundle_contains(right, left));
}

}  // namespace

CertificateManager::CertificateManager(CertificateStore& store, CertificateSettings settings, Changed changed)
    : store_(store), settings_(std::move(settings)), changed_(std::move(changed)) {}

CertificateManager::Tick CertificateManager::tick(Now now) {
  Tick tick;
  tick.again_in = kShortestWait;
  for (int i = 0; i < kMaxSteps; ++i) {
    const auto more = step(now, tick);
    if (!more) {
      tick.problem = more.error().message;
      tick.again_in = std::min(kRetry, poll_interval());
    }
    if (!more || !*more) return tick;
  }
  return tick;
}

Result<bool> CertificateManager::step(Now now, Tick& tick) {
  const auto stored = store_.read();
  if (!stored) return fail("cannot read the stored certificates: " + stored.error().message);
  const auto keep = [&] {
    tick.again_in = std::clamp(standing_->until - now.wall, kShortestWait, poll_interval());
    return false;
  };
  if (standing_ && standing_->state == stored->state && now.wall >= standing_->from && now.wall < standing_->until) {
    return keep();
  }
  const CertificatePlan decision = plan(plan_input(stored->state, now));
  adopt(stored->state, decision.damaged, now);
  if (decision.action == CertificateAction::kKeep) {
    standing_ = Standing{stored->state, now.wall, now.wall + decision.valid_for};
    return keep();
  }

  std::string did = decision.reason;
  std::optional<CertificateState> next;
  if (decision.damaged && known_ && *known_ != stored->state && !plan(plan_input(*known_, now)).damaged) {
    next = known_;
    did = "put the last good certificates back: " + decision.reason;
  } else {
    auto made = apply(decision.action, plan_input(stored->state, now));
    if (!made) return fail("cannot renew certificates (" + decision.reason + "): " + made.error().message);
    next = std::move(made).value();
  }
  const auto outcome = store_.write(*next, stored->version);
  if (!outcome) return fail("cannot store new certificates (" + decision.reason + "): " + outcome.error().message);
  if (*outcome == StoreOutcome::kConflict) return true;
  tick.did += (tick.did.empty() ? "" : "; ") + did;
  adopt(*next, false, now);
  return true;
}

void CertificateManager::adopt(const CertificateState& state, bool damaged, Now now) {
  const auto facts = read_certificate(state.leaf.certificate);
  const std::string bundle = bundle_of(state);
  if (!facts || !check_key(state.leaf) || now.wall >= facts->not_after) return;
  if (!verify_chain(state.leaf.certificate, bundle, std::max(now.wall, facts->not_before))) return;

  if (!damaged) known_ = state;
  if (settings_.assume_injected) note_injection(!state.next.certificate.empty(), now);
  ServingCertificate serving{state.leaf.certificate, state.leaf.key, bundle, facts->not_after};
  if (current_ == serving) return;
  current_ = std::move(serving);
  changed_(*current_);
}

bool CertificateManager::injected(std::span<const std::string> bundles, Now now) {
  const auto differs = [&] {
    return std::any_of(bundles.begin(), bundles.end(),
                       [&](const std::string& bundle) { return !same_certificates(bundle, current_->bundle); });
  };
  if (!current_) return false;
  if (differs()) {
    const auto stored = store_.read();
    // Without knowing what is right, writing could only do harm.
    if (!stored) {
      note_injection(false, now);
      return false;
    }
    if (stored->state != known_) adopt(stored->state, plan(plan_input(stored->state, now)).damaged, now);
  }
  const std::string& next = known_ ? known_->next.certificate : next_ca_seen_;
  note_injection(!next.empty() && !bundles.empty() &&
                     std::all_of(bundles.begin(), bundles.end(),
                                 [&](const std::string& bundle) {
                                   return bundle == current_->bundle || bundle_contains(bundle, next);
                                 }),
                 now);
  return differs();
}

void CertificateManager::note_injection(bool injected, Now now) {
  if (!injected || !known_) {
    next_ca_seen_.clear();
    seen_since_.reset();
    return;
  }
  if (seen_since_ && next_ca_seen_ == known_->next.certificate) return;
  standing_.reset();  // from now on there is something to wait for
  next_ca_seen_ = known_->next.certificate;
  seen_since_ = now.monotonic;
}

PlanInput CertificateManager::plan_input(const CertificateState& state, Now now) const {
  return {state, settings_.names, settings_.lifetimes, now.wall, injected_for(state, now)};
}

std::optional<Duration> CertificateManager::injected_for(const CertificateState& state, Now now) const {
  if (!seen_since_ || state.next.certificate.empty() || state.next.certificate != next_ca_seen_) return std::nullopt;
  return now.monotonic - *seen_since_;
}

Duration CertificateManager::poll_interval() const {
  return std::clamp<Duration>(settings_.lifetimes.leaf / 20, kShortestWait, kLongestPoll);
}

}  // namespace muster::certs
