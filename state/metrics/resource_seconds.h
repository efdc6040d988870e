// Resource amounts times seconds of admission, for chargeback: muster_resource_seconds_total. The integral over time of
// what kueue_cluster_queue_resource_usage shows, by namespace. Pure: time is an argument.
//
// A series keeps the amount in use and the integral up to its last change; a reading adds amount times time since then.
// So only a change of an admission costs something, and nothing costs by second.
//
// Only the leader counts, from the moment at which it begins to lead: Prometheus adds up the series of all replicas,
// and each second is in one of them. A series of a replica that leads no more stays as it is, and goes on if the
// replica leads again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/measurement.h"
#include "base/clock.h"
#include "state/cluster_state.h"

namespace muster::state {

// One thread.
class ResourceSeconds {
 public:
  // `reclaims`: the gate ReclaimablePods.
  explicit ResourceSeconds(bool reclaims) : reclaims_(reclaims) {}

  // This replica leads from `now` on.
  void begin(MonotonicTime now);
  // Its Lease was valid until `until`, which has passed: another replica can count what came later.
  void end(MonotonicTime until);

  // An object has changed, `state` shows it as it is now. nullptr: it was not there, or is there no more.
  void note(const TypedObject* before, const TypedObject* after, const ClusterState& state, MonotonicTime now);
  // `state` was made again, perhaps without some objects: the amounts are read from it.
  void recount(const ClusterState& state, MonotonicTime now);

  // Resources in the units of their quantities (cpu: cores, memory: bytes) times seconds. `until`: now, or the end of
  // the Lease when that is earlier, because a process that was frozen learns late that another one leads; nullopt: it
  // has ended, and end() will follow. Values never fall.
  std::vector<GaugeReading> read(const ClusterState& state, std::optional<MonotonicTime> until) const;
  // Also those that are not shown: what is in use of flavors and resources that are not defined.
  size_t kept() const;

 private:
  struct Series {
    uint64_t used = 0;    // modulo 2^64, so that what is taken away again leaves no trace, however large it was
    double integral = 0;  // of amounts times seconds, up to `since`
    MonotonicTime since{};

    double value(MonotonicTime at) const;
  };
  // Of a namespace in a ClusterQueue. Ends when no LocalQueue and no admitted Workload is left.
  struct Account {
    int local_queues = 0;
    std::map<std::pair<std::string, std::string>, Series> series{};  // by flavor and resource
  };
  using Accounts = std::map<std::pair<std::string, std::string>, Account>;  // by ClusterQueue and namespace

  void note_workload(const Workload* before, const Workload* after, const ClusterState& state, MonotonicTime now);
  void use(const Workload& workload, bool uses, MonotonicTime now);
  void prune(Accounts::iterator account, const ClusterState& state);
  void prune_queue(const std::string& cluster_queue, const ClusterState& state);
  void prune_all(const ClusterState& state);
  void settle(MonotonicTime at);

  const bool reclaims_;
  bool counts_ = false;
  // The latest moment of a reading: end() does not go behind it.
  mutable MonotonicTime read_until_{};
  Accounts accounts_;
};

}  // namespace muster::state
