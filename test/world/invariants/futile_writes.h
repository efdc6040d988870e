// Whether muster's writes that come to nothing stay few:
//
//   refused   the API server refuses them
//   undone    an object that muster has deleted is made again, and muster deletes that one too: pods that have not
//             started, of one controller; Jobs of one name and attempt
//
// Of all that one object of a user leads to, which is the last of its owners, at most this many in any minute, and of
// the deletes only those that repeat one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "test/world/api_server.h"

namespace muster::world {

class FutileWrites {
 public:
  static constexpr size_t kMostAMinute = 120;

  using Report = std::function<void(std::string)>;
  // All must outlive it.
  FutileWrites(const ApiServer& server, const Timeline& timeline, Report report)
      : server_(server), timeline_(timeline), report_(std::move(report)) {}

  // Of every change. `by_muster`: it is a write of muster's, or follows from one at once.
  void see(const Change& change, bool by_muster);
  // Another leader knows nothing of the writes before it.
  void forget() { in_minute_.clear(); }
  // Of every answer to a write of muster's. `before`: the object that it found.
  void see_write(const reconcilers::Write& write, const Answer& answer, const ObjectPtr& before);

 private:
  struct Deleted {
    int awaited = 0;             // objects that can be made again
    std::set<std::string> made;  // uids of those that were
  };
  // The last of the owners, as text.
  std::string root_of(const nlohmann::json& object) const;
  void count(const nlohmann::json& object);

  const ApiServer& server_;
  const Timeline& timeline_;
  const Report report_;
  std::map<std::string, Deleted> deleted_;                      // by what is made again
  std::map<std::string, std::deque<MonotonicTime>> in_minute_;  // by root
  std::set<std::string> reported_;
};

}  // namespace muster::world
