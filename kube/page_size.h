// How many objects to ask for in the next page of a list, so that a page stays a few megabytes for any size of objects.
// Pure.
#pragma once

#include <cstddef>

namespace muster::kube {

class PageSize {
 public:
  static constexpr int kFirst = 20;
  static constexpr int kMost = 500;
  static constexpr size_t kWantedBytes = size_t{2} * 1024 * 1024;
  // More is not read; the page is asked for again with fewer objects.
  static constexpr size_t kMostBytes = 4 * kWantedBytes;

  int limit() const { return limit_; }
  // A page with this number of objects arrived.
  void came(size_t objects, size_t bytes);
  // It was larger than kMostBytes. False: one object alone is.
  bool was_too_large();

 private:
  int limit_ = kFirst;
};

}  // namespace muster::kube
