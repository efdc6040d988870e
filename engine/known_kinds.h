// Which watched kinds the engine knows enough of: listed, missing, current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "api/meta/resource_type.h"
#include "engine/catch_up.h"

namespace muster::engine {

// Of the kinds of kinds/watched_kinds.h; it ignores all others. Not thread-safe.
class KnownKinds {
 public:
  KnownKinds();

  // Before every watched kind was listed once: false, and rules must not be asked. A kind that
  // clusters do without can be absent instead.
  bool synced() const { return listed_.size() >= expected_; }
  // Synced, and no kind is missing.
  bool whole() const { return synced() && missing_.empty(); }
  // Every kind has caught up with the last term of this replica.
  bool current() const { return current_; }
  // The API server does not serve it, and has not served it since this process began.
  bool unknown(const ResourceType& type) const { return unknown_.contains(type.id()); }
  bool any_unknown() const { return !unknown_.empty(); }
  const std::set<KindId>& all_unknown() const { return unknown_; }
  // Kinds that are not served although muster needs them, or has seen objects of theirs; as in
  // "workloads.kueue.x-k8s.io".
  std::vector<std::string> missing() const;
  // As missing(): those that are not current.
  std::vector<std::string> behind() const;

  // True: it was unknown until now.
  bool note_listed(const ResourceType& type);
  void note_absent(const ResourceType& type, bool had_objects);
  // Each kind has to catch up with this term; 0: none has to.
  void await(uint64_t term);
  // True: current() has changed.
  bool note_caught_up(const ResourceType& type, uint64_t term);

 private:
  const size_t expected_;
  std::set<KindId> listed_;  // or absent, where clusters do without
  std::set<KindId> missing_;
  std::set<KindId> unknown_;  // of the listed
  CatchUp catch_up_;
  bool current_ = true;  // catch_up_.done(), which is asked often
};

}  // namespace muster::engine
