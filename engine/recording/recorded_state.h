// What the engine of a recording knows, folded from its batches: what a file must begin with that is not the first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "engine/loop/loop_observer.h"
#include "engine/recording/recorded_nodes.h"

namespace muster::recording {

// Holds the text of each object once. One thread.
class RecordedState {
 public:
  void take(const engine::ObservedBatch& batch);
  // Lists of all kinds, what is absent, the bundle, leadership; and as writes those that are under way.
  engine::ObservedBatch snapshot() const;
  // Nothing was taken.
  bool empty() const { return lists_.empty(); }

 private:
  struct Object {
    uint64_t version;
    std::string text;
  };
  struct List {
    uint64_t version = 0;
    std::map<std::string, Object> objects{};  // by path
  };
  // Of a kind, or of the one object of it that is watched by its name.
  using ListKey = std::pair<KindId, std::string>;

  void take(const engine::ObservedEvent& event);
  void replace(const engine::ObservedEvent& event);
  void put(const engine::ObservedEvent& event);
  List& list_of(const ResourceType& type, const std::string& path);

  std::map<ListKey, std::pair<const ResourceType*, List>> lists_;
  std::map<KindId, const ResourceType*> absent_;
  std::map<KindId, std::pair<const ResourceType*, uint64_t>> caught_up_;
  RecordedNodes nodes_;
  std::map<uint64_t, engine::Command> under_way_;
  std::string bundle_;
  bool leads_ = false;
  uint64_t term_ = 0;
  Now now_{};
};

}  // namespace muster::recording
