// What goes into a LoopCore and what it asks for, batch by batch, for whoever writes it down: with the same batches
// another LoopCore decides the same.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/events.h"

namespace muster::engine {

// One event without its typed objects, which cannot be written down: their texts are.
struct ObservedEvent {
  enum class What : uint8_t {
    kListed,
    kAbsent,
    kChanged,
    kRemoved,
    kBundle,
    kAnswer,
    kLeadership,
    kCaughtUp,
    kNodes,
    kTick
  };

  What what = What::kTick;
  Now at{};
  const ResourceType* type = nullptr;  // of the objects, or of the kind
  ObjectTexts texts{};                 // null: the event has no object
  struct Object {
    std::string path;  // "namespace/name"
    uint64_t version = 0;
  };
  std::vector<Object> objects{};  // of these texts
  std::string name{};             // KindListed::name
  uint64_t version = 0;           // of a list or of an answer
  uint64_t term = 0;              // of leadership, or of what has caught up
  bool leads = false;
  uint64_t id = 0;  // of an answer
  reconcilers::WriteOutcome outcome = reconcilers::WriteOutcome::kDone;
  std::string text{};  // the bundle, or the API server's sentence
  // Of kNodes, for whoever keeps what is known; its text has all of it.
  scheduler::NodeNews news{};
};
ObservedEvent observed(const Event& event, Now at);

struct ObservedBatch {
  std::vector<ObservedEvent> events;
  Now planned{};
  std::vector<Command> writes;
};

class LoopObserver {
 public:
  virtual ~LoopObserver() = default;

  // What is kept of an object. Any thread. Called before the event is made, so that the engine's thread has
  // nothing to do with it.
  virtual std::string text_of(const ResourceType& type, const nlohmann::json& object) const = 0;
  // A LoopCore begins, which knows nothing.
  virtual void began() = 0;
  // On the thread of the LoopCore, after each of its batches.
  virtual void saw(ObservedBatch batch) = 0;

  ObjectTexts texts_of(const ResourceType& type, const nlohmann::json& object) const;
};

}  // namespace muster::engine
