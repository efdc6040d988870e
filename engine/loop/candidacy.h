// Whether this replica takes part in the election of a leader. It does not while another replica can do
// better, or while no replica of muster must decide. The election itself is kube/leases/; the threads around
// this are runtime/leadership.h.
//
// Not thread-safe: its owner locks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace muster::engine {

class Candidacy {
 public:
  enum class Pause : uint8_t {
    kStuck = 1,   // the engine does not end a step: another replica can do better
    kKueue = 2,   // Kueue decides, so no replica of muster must
    kBehind = 4,  // a watch does not catch up: another replica can see the cluster
  };
  static constexpr Duration kLongestBehind = std::chrono::seconds(10);

  // `elected`: leaders are elected. Otherwise there is no other replica, and only Kueue is a reason for a pause.
  explicit Candidacy(bool elected) : elected_(elected) {}

  void begin() { begun_ = true; }
  void end() { begun_ = false; }
  bool takes_part() const { return begun_ && pauses_ == 0; }

  // True: it took part, and must give its leadership up now. To repeat a pause changes nothing.
  bool pause(Pause why);
  // True: it takes part again. A pause for another reason goes on.
  bool resume(Pause why);

  // Whether a watch has not caught up with the term of this replica. True: it takes part again.
  bool set_behind(bool behind, MonotonicTime now);
  // When it pauses for kBehind unless its watches catch up before; nullopt: never.
  std::optional<MonotonicTime> yields_at() const;

 private:
  bool holds(Pause why) const { return (pauses_ & static_cast<uint8_t>(why)) != 0; }

  bool elected_;
  bool begun_ = false;
  uint8_t pauses_ = 0;
  std::optional<MonotonicTime> behind_since_{};
};

}  // namespace muster::engine
