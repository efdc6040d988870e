// What to do next with muster's own certificates: a pure decision.
//
// muster is its own CA. One state, kept in one Secret (or directory), is shared by all replicas; each
// replica checks it periodically, and the first replica that finds a due step does it. If two
// replicas write at the same time, the store detects the conflict (certs/store.h): the loser reads
// again.
//
// A certificate is renewed at 2/3 of its life. For a leaf that is all. A CA is
// renewed in two phases, because the API server that calls the webhook trusts a
// *copy* of the bundle in the webhook configuration, and that copy arrives late:
//
//   publish   the next CA is made and joins the bundle; nothing is signed by it.
//   switch    the next CA becomes the authority and signs a new leaf; the old CA
//             stays in the bundle, without its key.
//   trim      an old CA leaves the bundle when it has expired. A leaf never
//             outlives its CA, so by then every leaf it signed has expired too.
//
// The switch waits until the bundle with the next CA has been seen in *all* webhook
// configurations for `publish_delay` without a gap (PlanInput::injected_for): in this
// time every API server reads it. So at any time the leaf of any replica, the old or
// the new one, verifies against any bundle that any API server can still use. A replica
// that reads late serves the old leaf, whose CA is still in the bundle; so replicas
// need no common time of the switch. When the injection never succeeds (RBAC, an API
// server that is down), muster keeps the old CA until its leaf has expired, and then
// switches.
//
// Clocks: not_before is `backdate` in the past, so that a machine with a slower clock accepts a new certificate
// at once. A certificate that begins further in the future than that comes from a clock far ahead, and is
// replaced.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "certs/authority.h"

namespace muster::certs {

// Everything that is stored. Empty texts mean "there is none"; nothing is trusted
// just because it is there.
struct CertificateState {
  KeyPair authority;     // signs leaves
  KeyPair next;          // in the bundle, does not sign yet; usually empty
  std::string previous;  // PEM certificates of CAs that no longer sign
  KeyPair leaf;          // what is served

  bool operator==(const CertificateState&) const = default;
};

struct Lifetimes {
  Duration authority = std::chrono::hours(24 * 365);
  Duration leaf = std::chrono::hours(24 * 90);
  // How long an injected bundle is given to reach every API server. At most a
  // twelfth of the CA's life counts, so that short-lived CAs rotate in time.
  Duration publish_delay = std::chrono::seconds(60);

  Duration effective_publish_delay() const;
};

// The part of a certificate's lifetime before its creation: 1 h, or for short-lived certificates half of their
// lifetime.
Duration backdate(Duration lifetime);
// Valid from `now` less the backdate until `now` plus `lifetime`.
Validity validity_from(TimePoint now, Duration lifetime);

enum class CertificateAction {
  kKeep,
  kRenewLeaf,    // same CA, new leaf
  kPublishNext,  // a next CA joins the bundle
  kSwitch,       // the next CA takes over and signs a new leaf; the old one stays trusted
  kTrim,         // expired or unreadable CAs leave the bundle
  kMakeAll,      // nothing usable: new CA, new leaf
};

struct PlanInput {
  const CertificateState& state;
  const ServingNames& names;
  const Lifetimes& lifetimes;
  TimePoint now;
  // How long every webhook configuration has had the bundle that contains state.next; nullopt when one does not have
  // it, or when this is unknown.
  std::optional<Duration> injected_for;
};

struct CertificatePlan {
  CertificateAction action = CertificateAction::kKeep;
  std::string reason;  // for the log: why; empty when there is nothing to do
  // The reason is not time but content: missing, unreadable or inconsistent. A replica with a good state in memory
  // should restore that state.
  bool damaged = false;
  // How long this decision stands if nothing else changes. Zero when there is
  // something to do; never negative.
  Duration valid_for{};
};

CertificatePlan plan(const PlanInput& input);

// The state after `action`; makes keys and certificates, and is otherwise a
// function of its arguments. kKeep returns the state as it is.
Result<CertificateState> apply(CertificateAction action, const PlanInput& input);

// What the webhook configurations must hold: the next CA, the authority and the
// previous ones, newest first, each once, in one canonical spelling. A function of
// the state alone, so that replicas with different clocks inject the same.
std::string bundle_of(const CertificateState& state);

// Whether `bundle` has every certificate of `wanted`, in any order.
bool bundle_contains(std::string_view bundle, std::string_view wanted);

}  // namespace muster::certs
