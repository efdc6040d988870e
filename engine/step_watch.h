// An observer that is called at each step of the engine, so that time can be taken: the engine itself has no
// clock.
#pragma once

#include <string_view>

#include "kinds/typed_object.h"

namespace muster::engine {

class StepWatch {
 public:
  virtual ~StepWatch() = default;
  // On the engine's thread, for every step; steps are not nested. `key` can be null, and is good
  // until the step has ended.
  virtual void began(std::string_view step, const ObjectKey* key) = 0;
  virtual void ended() = 0;
};

// One step, for as long as it lives; `watch` can be null.
class WatchedStep {
 public:
  WatchedStep(StepWatch* watch, std::string_view step, const ObjectKey* key = nullptr) : watch_(watch) {
    if (watch_ != nullptr) watch_->began(step, key);
  }
  ~WatchedStep() {
    if (watch_ != nullptr) watch_->ended();
  }
  WatchedStep(const WatchedStep&) = delete;
  WatchedStep& operator=(const WatchedStep&) = delete;

 private:
  StepWatch* watch_;
};

}  // namespace muster::engine
