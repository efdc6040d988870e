// The memory of all handlers that run, as a number: a handler that needs much memory waits, so that large requests run
// one after the other and not all at once.
//
// Small requests take nothing from it and never wait. How much a handler can need is known
// before it runs, from the size of the body (Route::memory).
#pragma once

#include <cstddef>

#include "base/mutex.h"

namespace muster::server {

// Thread-safe.
class WorkMemory {
 public:
  explicit WorkMemory(size_t bytes) : bytes_(bytes) {}

  // The total; a request that needs more can never be served.
  size_t size() const { return bytes_; }
  // False when it is not available now.
  bool take(size_t bytes) EXCLUDES(mutex_);
  void give_back(size_t bytes) EXCLUDES(mutex_);
  // Changes with every give_back(): a caller that got no memory compares it before it sleeps.
  size_t returns() const EXCLUDES(mutex_);

 private:
  const size_t bytes_;
  mutable Mutex mutex_;
  size_t taken_ GUARDED_BY(mutex_) = 0;
  size_t returns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::server
