// What the lean watches of a recording have reported of nodes and their pods: a part of RecordedState.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "engine/loop/loop_observer.h"

namespace muster::recording {

// One thread.
class RecordedNodes {
 public:
  void take(const engine::ObservedEvent& event);
  // One list of each part that was listed. The events have no time.
  void add_snapshot(const std::function<void(engine::ObservedEvent)>& add) const;

 private:
  struct Value {
    uint64_t listing;
    scheduler::NodeNews news;
    engine::ObjectTexts texts;
  };
  struct Part {
    uint64_t listing = 0;
    bool listed = false;
    uint64_t caught_up = 0;
    std::map<std::string, Value> values{};  // by name, or uid
  };

  Part& part(scheduler::NodePart part) { return parts_[static_cast<size_t>(part)]; }
  void keep(scheduler::NodePart part, const std::string& key, const engine::ObservedEvent& event);

  std::array<Part, 2> parts_{};
};

}  // namespace muster::recording
