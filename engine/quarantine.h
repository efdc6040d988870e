// Keys over which muster broke: an exception, or an invariant that did not hold. Whatever that
// was, it was met because of the content of an object, so it will be met again, by every replica.
// So the key is set aside, reported once, and tried again when its object changes.
//
// Three things can break over an object, each with its own remedy:
//   reconciling  wrote nothing; the key is asked again whenever something concerns it
//   the state    its indexes are half way through a change: they are rebuilt without this
//                version of the object, which is as if it were not there
//   quota        the scheduler is half way through a change: it is rebuilt without the object
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kinds/typed_object.h"

namespace muster::engine {

enum class Broke { kReconciling, kState, kQuota };
std::string_view to_text(Broke broke);

// The report. No key: no single object caused it.
struct Breakage {
  std::optional<ObjectKey> key;
  Broke broke;
  std::string where;  // in the code: "scheduler/quota/ledger.cpp:53", or what muster was doing
  std::string what;   // was thrown

  bool operator==(const Breakage&) const = default;
};
// `doing` is reported where the exception does not know its place.
Breakage describe(std::optional<ObjectKey> key, Broke broke, std::string_view doing, const std::exception& thrown);

// One thread.
class Quarantine {
 public:
  // Sets this version of the object aside. Whether that is news: another version, or another
  // exception, of what is aside already is none.
  bool set_aside(const Breakage& breakage, uint64_t version);
  // Nothing to do with it any more: it worked, or it has gone.
  void release(const ObjectKey& key, Broke broke) {
    if (!entries_.empty()) entries_.erase({key, broke});
  }
  void release(const ObjectKey& key);
  // Whether this very version is aside.
  bool holds(const ObjectKey& key, Broke broke, uint64_t version) const;

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t version;
    std::string where, what;
  };
  std::map<std::pair<ObjectKey, Broke>, Entry> entries_;
};

}  // namespace muster::engine
