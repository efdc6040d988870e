// Internal mode: keeps muster's own CA and serving certificate in a store and gives the server the certificate to serve
// and the bundle to inject.
//
// The manager has no thread, no clock and no log: its owner calls tick() and does
// what it says, on one thread. A typical owner loops
//
//   tick -> sleep until `again_in` -> tick ...
//
// and calls injected() after each read of the webhook configurations.
//
// Failures: when the store cannot be read or written, the old certificate stays in use; the tick
// returns the reason and an early next call. When the stored state is damaged or deleted, a
// replica with a good state in memory restores it; only a replica without such a state creates a
// new one.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "certs/serving_certificate.h"
#include "certs/store.h"

namespace muster::certs {

struct CertificateSettings {
  ServingNames names;
  Lifetimes lifetimes;
  // No injector can confirm a bundle (a directory whose ca.crt another program reads): the next CA counts as injected
  // from its first sight.
  bool assume_injected = false;
};

class CertificateManager {
 public:
  // Called from within tick() and injected(), when the certificate or the bundle has changed.
  using Changed = std::function<void(const ServingCertificate&)>;

  // The store must outlive the manager.
  CertificateManager(CertificateStore& store, CertificateSettings settings, Changed changed);

  struct Tick {
    std::string did;      // what was written and why, for the log; empty when nothing was
    std::string problem;  // why something could not be done; empty when all is well
    Duration again_in{};  // positive, and at most the interval at which the store is read again
  };
  Tick tick(Now now);

  // Passes the current contents of every webhook configuration: `bundles` one by one, as read from them (PEM). Returns
  // whether they must be written with current().bundle.
  //
  // A difference is first a reason to read the store again, since another replica
  // can know a newer bundle than this one. With the resourceVersion of the reading as
  // the write's precondition, replicas cannot overwrite each other's newer bundle.
  bool injected(std::span<const std::string> bundles, Now now);

  // nullopt until the first tick has succeeded.
  const std::optional<ServingCertificate>& current() const { return current_; }

 private:
  // Reads, decides and writes once. True when there can be more to do at once.
  Result<bool> step(Now now, Tick& tick);
  // Takes a stored state over if its leaf can be served at all; as the last good one
  // only if plan() found no damage in it.
  void adopt(const CertificateState& state, bool damaged, Now now);
  PlanInput plan_input(const CertificateState& state, Now now) const;
  std::optional<Duration> injected_for(const CertificateState& state, Now now) const;
  void note_injection(bool injected, Now now);
  Duration poll_interval() const;

  CertificateStore& store_;
  const CertificateSettings settings_;
  const Changed changed_;

  // The last decision to keep a state, and while it stands: parsing keys costs a
  // millisecond, comparing texts does not.
  struct Standing {
    CertificateState state;
    TimePoint from, until;
  };
  std::optional<Standing> standing_;
  std::optional<CertificateState> known_;      // last good one, read or written
  std::optional<ServingCertificate> current_;  // made from known_
  // Since when every webhook configuration has held next_ca_seen_ without a gap.
  std::string next_ca_seen_;
  std::optional<MonotonicTime> seen_since_;
};

}  // namespace muster::certs
