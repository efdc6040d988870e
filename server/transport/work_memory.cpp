#include "server/transport/work_memory.h"

#include <cassert>

namespace muster::server {

bool WorkMemory::take(size_t bytes) {
  MutexLock lock(mutex_);
  if (bytes > bytes_ - taken_) return false;
  taken_ += bytes;
  return true;
}

void WorkMemory::give_back(size_t bytes) {
  MutexLock lock(mutex_);
  assert(bytes <= taken_);
  taken_ -= bytes;
  ++returns_;
}

size_t WorkMemory::returns() const {
  MutexLock lock(mutex_);
  return returns_;
}

}  // namespace muster::server
