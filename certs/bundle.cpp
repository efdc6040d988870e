#include "certs/bundle.h"

#include <algorithm>
#include <set>
#include <vector>

namespace muster::certs {
namespace {

constexpr std::string_view kAuthorityName = "muster-ca";

// A stored pair as far as it can be used: `facts`, or else why not.
struct Inspected {
  std::optional<CertificateFacts> facts;
  std::string problem;
  bool damaged = false;
};

Inspected inspect(const KeyPair& pair, std::string_view what, Duration lifetime, TimePoint now) {
  const auto broken = [&](const std::string& why, bool damaged = true) {
    return Inspected{std::nullopt, std::string(what) + " " + why, damaged};
  };
  if (pair.certificate.empty()) return broken("is missing");
  const auto facts = read_certificate(pair.certificate);
  if (!facts) return broken("cannot be used: " + facts.error().message);
  if (auto fits = check_key(pair); !fits) return broken("cannot be used: " + fits.error().message);
  if (now >= facts->not_after) return broken("has expired", false);
  if (facts->not_before > now + backdate(lifetime)) return broken("begins too far in the future; was a clock wrong?");
  return {*facts, "", false};
}

Inspected inspect_authority(const KeyPair& pair, std::string_view what, const PlanInput& input) {
  Inspected result = inspect(pair, what, input.lifetimes.authority, input.now);
  if (result.facts && !result.facts->is_authority)
    return {std::nullopt, std::string(what) + " is no CA certificate", true};
  return result;
}

bool covers(const ServingNames& all, const ServingNames& some) {
  return std::includes(all.dns.begin(), all.dns.end(), some.dns.begin(), some.dns.end()) &&
         std::includes(all.ips.begin(), all.ips.end(), some.ips.begin(), some.ips.end());
}

Inspected inspect_leaf(const PlanInput& input) {
  Inspected result = inspect(input.state.leaf, "the serving certificate", input.lifetimes.leaf, input.now);
  if (!result.facts) return result;
  // not_before can lie a little ahead of this machine's clock; that is no reason.
  const TimePoint at = std::max(input.now, result.facts->not_before);
  if (auto signed_by_us = verify_chain(input.state.leaf.certificate, input.state.authority.certificate, at);
      !signed_by_us) {
    return {std::nullopt, "the serving certificate was not signed by the CA: " + signed_by_us.error().message, true};
  }
  if (!covers(result.facts->names, canonical(input.names))) {
    return {std::nullopt, "the serving certificate lacks names that are configured now", false};
  }
  return result;
}

// 2/3 of life: a third of it is left. Life is what was asked for, or what the
// certificate has, whichever is shorter, so that changed settings act on old ones.
TimePoint renewal_time(const CertificateFacts& facts, Duration lifetime) {
  return facts.not_after - std::min<Duration>(lifetime, facts.not_after - facts.not_before) / 3;
}

// A leaf that is renewed before its time, for names that it lacks, keeps those it has:
// during a rollout two versions of muster can want different ones, and would otherwise
// replace each other's certificate for ever. The renewal that is due anyway drops them.
ServingNames names_to_sign(const PlanInput& input) {
  ServingNames names = input.names;
  const auto facts = read_certificate(input.state.leaf.certificate);
  if (!facts || input.now >= renewal_time(*facts, input.lifetimes.leaf)) return names;
  names.dns.insert(names.dns.end(), facts->names.dns.begin(), facts->names.dns.end());
  names.ips.insert(names.ips.end(), facts->names.ips.begin(), facts->names.ips.end());
  return canonical(std::move(names));
}

bool expired_or_unreadable(const std::string& pem, TimePoint now) {
  const auto facts = read_certificate(pem);
  return !facts || now >= facts->not_after;
}

std::vector<std::string> previous_authorities(const CertificateState& state) {
  auto split = split_bundle(state.previous);
  return split ? std::move(split).value() : std::vector<std::string>();
}

// When something must leave the bundle: the first end of a previous CA; `now` when
// the text is unreadable.
std::optional<TimePoint> trim_time(const CertificateState& state, TimePoint now) {
  if (state.previous.empty()) return std::nullopt;
  std::optional<TimePoint> first;
  for (const std::string& pem : previous_authorities(state)) {
    const auto facts = read_certificate(pem);
    if (!facts) return now;
    first = std::min(first.value_or(facts->not_after), facts->not_after);
  }
  return first.value_or(now);
}

CertificatePlan act(CertificateAction action, std::string reason, bool damaged = false) {
  return {action, std::move(reason), damaged, Duration{}};
}

}  // namespace

Duration Lifetimes::effective_publish_delay() const {
  return std::min(publish_delay, authority / 12);
}

Duration backdate(Duration lifetime) {
  return std::min<Duration>(std::chrono::hours(1), lifetime / 2);
}

Validity validity_from(TimePoint now, Duration lifetime) {
  return {now - backdate(lifetime), now + lifetime};
}

CertificatePlan plan(const PlanInput& input) {
  const CertificateState& state = input.state;
  const Inspected authority = inspect_authority(state.authority, "the CA", input);
  const bool has_next = !state.next.certificate.empty() || !state.next.key.empty();
  const Inspected next = has_next ? inspect_authority(state.next, "the next CA", input) : Inspected{};
  if (!authority.facts && !next.facts) return act(CertificateAction::kMakeAll, authority.problem, authority.damaged);
  if (!authority.facts) {
    return act(CertificateAction::kSwitch, authority.problem + "; the next CA takes over", authority.damaged);
  }
  if (has_next && !next.facts) return act(CertificateAction::kPublishNext, next.problem, next.damaged);

  TimePoint look_again = authority.facts->not_after;
  if (has_next && input.injected_for) {
    const Duration wait = input.lifetimes.effective_publish_delay() - *input.injected_for;
    if (wait <= Duration{}) {
      return act(CertificateAction::kSwitch, "the API servers have had the next CA in their bundle for long enough");
    }
    look_again = std::min(look_again, input.now + wait);
  }
  const Inspected leaf = inspect_leaf(input);
  if (!leaf.facts) return act(CertificateAction::kRenewLeaf, leaf.problem, leaf.damaged);

  // A leaf that ends with its CA gains nothing from another signature by it.
  if (leaf.facts->not_after < authority.facts->not_after) {
    const TimePoint renew = renewal_time(*leaf.facts, input.lifetimes.leaf);
    if (input.now >= renew) return act(CertificateAction::kRenewLeaf, "2/3 of the serving certificate's life are over");
    look_again = std::min(look_again, renew);
  }
  if (!has_next) {
    const TimePoint renew = renewal_time(*authority.facts, input.lifetimes.authority);
    if (input.now >= renew) return act(CertificateAction::kPublishNext, "2/3 of the CA's life are over");
    look_again = std::min(look_again, renew);
  }
  if (const auto trim = trim_time(state, input.now)) {
    if (input.now >= *trim) return act(CertificateAction::kTrim, "a previous CA has expired or is unreadable");
    look_again = std::min(look_again, *trim);
  }
  return {CertificateAction::kKeep, "", false, look_again - input.now};
}

Result<CertificateState> apply(CertificateAction action, const PlanInput& input) {
  CertificateState state = input.state;
  const auto new_authority = [&] {
    return make_authority(kAuthorityName, validity_from(input.now, input.lifetimes.authority));
  };
  bool sign = false;

  if (action == CertificateAction::kPublishNext || action == CertificateAction::kMakeAll) {
    auto made = new_authority();
    if (!made) return fail_with(made.error());
    (action == CertificateAction::kMakeAll ? state.authority : state.next) = std::move(made).value();
  }
  if (action == CertificateAction::kMakeAll) {
    // What was there cannot be distinguished from what another writer put there.
    state.next = {};
    state.previous.clear();
    sign = true;
  }
  if (action == CertificateAction::kSwitch) {
    if (split_bundle(state.authority.certificate)) state.previous = state.authority.certificate + state.previous;
    state.authority = std::move(state.next);
    state.next = {};
    sign = true;
  }
  if (action == CertificateAction::kSwitch || action == CertificateAction::kTrim) {
    std::string kept;
    for (const std::string& pem : previous_authorities(state)) {
      if (!expired_or_unreadable(pem, input.now)) kept += pem;
    }
    state.previous = std::move(kept);
  }
  if (sign || action == CertificateAction::kRenewLeaf) {
    const ServingNames names = action == CertificateAction::kRenewLeaf ? names_to_sign(input) : input.names;
    auto leaf = make_leaf(state.authority, names, validity_from(input.now, input.lifetimes.leaf));
    if (!leaf) return fail_with(leaf.error());
    state.leaf = std::move(leaf).value();
  }
  return state;
}

std::string bundle_of(const CertificateState& state) {
  std::string bundle;
  std::set<std::string> seen;
  for (const std::string* text : {&state.next.certificate, &state.authority.certificate, &state.previous}) {
    const auto split = split_bundle(*text);
    if (!split) continue;
    for (const std::string& pem : *split) {
      if (seen.insert(pem).second) bundle += pem;
    }
  }
  return bundle;
}

bool bundle_contains(std::string_view bundle, std::string_view wanted) {
  const auto have = split_bundle(bundle);
  const auto want = split_bundle(wanted);
  if (!have || !want) return false;
  const std::set<std::string> known(have->begin(), have->end());
  return std::all_of(want->begin(), want->end(), [&](const std::string& pem) { return known.contains(pem); });
}

}  // namespace muster::certs
