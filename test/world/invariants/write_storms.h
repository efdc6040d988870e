// Whether muster's writes end:
//
//   no alternation   of an object's last four values, all written by muster, the third is
//                    not the first and the fourth not the second while no other client wrote anything,
//                    and muster heard of no such write; in a busy cluster the same of what matters to
//                    others (spec, conditions), over eight values, while no other client wrote this object or a
//                    queue
//   quiet            after the last write or fault that is not muster's, muster writes each
//                    object a few times at most
//
// Values are compared without their stamps, so that a storm slower than a second counts, too.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "test/world/api_server.h"

namespace muster::world {

class WriteStorms {
 public:
  // Writes of muster to one object for one thing that another client did.
  static constexpr int kMostWrites = 12;

  using Report = std::function<void(std::string)>;
  explicit WriteStorms(Report report) : report_(std::move(report)) {}

  // Of every change. `by_muster`: it is a write of muster's, or follows from one at once.
  void see(const Change& change, bool by_muster);
  // A replica of muster hears of a change; what others did is news to it only then.
  void see_heard(const Change& change);
  // A fault, a clock that was set, another leader: muster can have reason to write again.
  void note_disturbance() { ++disturbances_; }

 private:
  struct Value {
    size_t whole, rough;  // digests: of all that is in it, of spec and conditions alone
    uint64_t undisturbed_since;
    uint64_t queues_since;
  };
  struct History {
    std::deque<Value> values;
    uint64_t undisturbed_since = 0;
    int writes = 0;  // since then
    bool reported = false;
  };
  void check_alternation(const ObjectKey& key, History& history);
  void check_quiet(const ObjectKey& key, History& history);

  Report report_;
  std::map<ObjectKey, History> histories_;
  std::set<uint64_t> by_others_;  // versions, of the last changes by others
  uint64_t disturbances_ = 0;     // counts what others did, and when muster has heard of it
  uint64_t queue_changes_ = 0;
};

}  // namespace muster::world
