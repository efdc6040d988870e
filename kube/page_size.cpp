#include "kube/page_size.h"

#include <algorithm>

namespace muster::kube {

void PageSize::came(size_t objects, size_t bytes) {
  if (objects == 0) return;
  const size_t each = std::max<size_t>(bytes / objects, 1);
  // The next objects can be larger: at most four times as many as on the last page.
  const size_t most = std::min<size_t>(4 * objects, kMost);
  limit_ = static_cast<int>(std::clamp<size_t>(kWantedBytes / each, 1, most));
}

bool PageSize::was_too_large() {
  if (limit_ == 1) return false;
  limit_ = std::max(1, limit_ / 4);
  return true;
}

}  // namespace muster::kube
