// Which replica of muster leads: the lease of leader election, 15 s long, renewed every
// 2 s, released by a holder that could not renew it for 10 s. The Lease object itself is left
// out; a holder that was killed keeps the lease until it has run out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "test/world/timeline.h"

namespace muster::world {

class Leases {
 public:
  // What the lease needs of a replica.
  struct Candidate {
    // Counts the starts of its process: a new process is another holder. 0: it is down.
    std::function<uint64_t()> incarnation;
    // Whether the API server can be reached.
    std::function<bool()> connected;
    // Whether it stands for election (engine/loop/candidacy.h).
    std::function<bool()> takes_part;
    std::function<void(bool)> lead;
  };

  // `timeline` must outlive the lease.
  Leases(Timeline& timeline, uint64_t seed) : timeline_(timeline), chance_(seed, "leases") {}

  // Replicas are numbered from 0 in this order.
  void add(Candidate candidate);
  // The holder gives the lease up now, and this replica takes it as soon as it can; -1: no replica does. Afterwards all
  // goes on by the rules, but for -1, which stays so.
  void elect(int replica);
  // The holder gives the lease up in good order; any other replica can take it.
  void release(int replica);
  // Until when a replica leads, as far as it knows: the renew deadline, counted from its last renewal. nullopt:
  // it does not lead.
  std::optional<MonotonicTime> leads_until(int replica) const;
  // Who leads; -1: no replica. A replica that is down has lost leadership, whatever the lease says.
  int holder() const;

 private:
  void tick(int replica);
  bool taken_by_other(int replica) const;

  Timeline& timeline_;
  Chance chance_;
  std::vector<Candidate> candidates_;
  int holder_ = -1;
  uint64_t incarnation_ = 0;  // of the holder
  bool leading_ = false;      // the holder has not released it
  MonotonicTime renewed_{};
  int favourite_ = -2;  // -2: any replica; -1: none
};

}  // namespace muster::world
