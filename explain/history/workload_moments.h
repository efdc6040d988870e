// What has happened to a Workload, read from two versions of it. Pure.
//
// Conditions keep their last change only. Who sees each version of a Workload can tell more: each moment in which it
// began to wait for another reason, got quota, ran, lost it. That is the history which people read, and nothing is
// decided by it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/explained.h"
#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "base/shared_text.h"

namespace muster::explain {

enum class MomentKind : uint8_t {
  kCreated,
  kPreempted,  // before kWaits: moments of one second have this order
  kEvicted,
  kDeactivated,
  kActivated,
  kBackoff,
  kWaits,
  kRequeued,
  kMoved,
  kPriority,
  kReserved,
  kCheck,
  kAdmitted,
  kReady,
  kNotReady,
  kFinished,
  kDeleting,
  kDeleted,
  kGap,  // moments before it are not kept
};

struct Moment {
  // A Workload's controllers write messages of any length.
  static constexpr size_t kMostText = 255;  // bytes

  int64_t seconds = 0;  // since 1970
  SharedText text{};
  SharedText preemptor{};  // "namespace/name", or "uid:..." as long as it is not known; empty: none
  MomentKind kind = MomentKind::kCreated;
  // Found in a condition that was there before this process saw the Workload: what was before is lost, and the time is
  // that of the condition's last change of status.
  bool from_conditions = false;
};

// "Waits (WaitingForQuota): ...". Names no Workload but its own.
std::string sentence_of(const Moment& moment);
// `find`: the name of the Workload with this uid; nullopt: there is none.
using FindWorkload = std::function<std::optional<ExplainedOthers::Name>(std::string_view uid)>;
ExplainedMoment explained(const Moment& moment, const FindWorkload& find);
// Of an object that does not exist, and of which `reply` has recorded moments: that it was deleted, when, and where to
// read what happened to it. Nothing where there are no such moments.
void say_deleted(ExplainReply& reply);

// At most kMostText bytes, and no character is cut in two.
std::string_view cut_text(std::string_view text);

// What of a Workload was seen last, as little as says whether the next version is news. 16 bytes for each condition.
class WorkloadTrace {
 public:
  struct News {
    std::vector<Moment> moments{};  // earliest first
    // The reason of the last kWaits is as it was, and this is its text now.
    std::optional<SharedText> waits{};
  };
  // Of the first version all its conditions. A time that is not in the object is `now`.
  News take(const Workload& workload, Timestamp now);

  size_t bytes() const { return (conditions_.capacity() * sizeof(Seen)) + (checks_.capacity() * sizeof(uint64_t)); }

 private:
  struct Seen {
    uint32_t seconds = 0;              // the lower half, which is enough to see a change
    uint32_t reason = 0, message = 0;  // digests
    uint8_t type = 0;                  // index in a table
    bool is_true = false;
  };
  Seen& seen(uint8_t type, bool& first);
  void take_conditions(const Workload& workload, int64_t now, News& news);
  void take_spec(const Workload& workload, int64_t now, std::vector<Moment>& news);
  void take_checks(const Workload& workload, int64_t now, std::vector<Moment>& news);

  std::vector<Seen> conditions_;
  std::vector<uint64_t> checks_;  // digests of names and states, by position
  uint32_t queue_ = 0;
  int32_t priority_ = 0;
  bool active_ = true, deleting_ = false, known_ = false;
};

}  // namespace muster::explain
