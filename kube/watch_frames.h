// Splits the body of a watch into its events: one JSON document per line. Pure.
// Source: Kubernetes API concepts, "Efficient detection of changes".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::kube {

// Bytes arrive cut anywhere; frames leave whole. Holds at most one unfinished frame.
class WatchFrames {
 public:
  // etcd refuses objects past 1.5 MiB; JSON can be some times larger than what etcd stores.
  static constexpr size_t kMaxFrameBytes = 16 * 1024 * 1024;

  explicit WatchFrames(size_t max_frame_bytes = kMaxFrameBytes) : max_frame_bytes_(max_frame_bytes) {}

  // Calls `on_frame` for each line that these bytes finish, in order, until it returns
  // false: then the rest is dropped. Empty lines are skipped. An error means that a
  // frame exceeds the limit; the stream is of no use any more.
  Outcome<> feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_frame);

 private:
  const size_t max_frame_bytes_;
  std::string unfinished_;
};

}  // namespace muster::kube
