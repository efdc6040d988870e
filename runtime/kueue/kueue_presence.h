// Whether Kueue itself is at work in this cluster. Two schedulers must never decide over the same
// Workloads, so muster waits as long as it is. Pure: who reads the traces is kueue_guard.h.
//
// Two signs count. Kueue's webhook configurations, which only an administrator can make: while they
// are there, jobs depend on Kueue, also when it is scaled to none. And Kueue's Lease, in any
// namespace, as long as its holder renews it. As in client-go no clock of another machine is believed:
// a Lease is alive for its own duration after *this* process saw its renewTime change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace muster::runtime {

struct KueueLease {
  std::string ns;
  std::string holder;   // not empty
  std::string renewed;  // renewTime as written: it is compared, never read
  Duration duration{};

  bool operator==(const KueueLease&) const = default;
};

// What one reading of the cluster shows.
struct KueueTraces {
  std::vector<KueueLease> leases;     // of Kueue's name, held by a process that is no muster
  std::vector<std::string> webhooks;  // names of Kueue's webhook configurations that call something
};

// "host_<32 hex digits>", as process_identity() makes them. Kueue's have a UUID with dashes there.
bool is_muster_identity(std::string_view holder);
// Names that the service account of who holds a Lease can have, by its pod's name: Kueue's own, and that of a Helm
// release, "x-kueue-controller-manager" of "x-kueue-controller-manager-5d9c7b6f-x2v4w_...".
std::vector<std::string> account_names_of(std::string_view holder);

class KueuePresence {
 public:
  enum class Verdict {
    kUnknown,  // a Lease was there from the beginning, and it is not known yet whether it lives
    kAway,
    kThere,
  };

  // What was read, and when, by this process's clock.
  Verdict saw(const KueueTraces& traces, MonotonicTime now);
  // The sign of the last verdict that was not kAway, for people.
  const std::string& why() const { return why_; }

 private:
  struct Seen {
    KueueLease lease;
    MonotonicTime changed;
    bool lives;  // it was seen to change
  };
  Verdict judge(const KueueLease& lease, MonotonicTime now);

  std::map<std::string, Seen> seen_;  // by namespace
  bool first_ = true;
  std::string why_;
};

}  // namespace muster::runtime
