#include "kube/watch_frames.h"

namespace muster::kube {

Outcome<> WatchFrames::feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_frame) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (unfinished_.size() + piece.size() > max_frame_bytes_) {
      return fail("an event of the watch is larger than " + std::to_string(max_frame_bytes_) + " bytes");
    }
    if (end == std::string_view::npos) {
      unfinished_ += piece;
      return Done{};
    }
    bytes.remove_prefix(end + 1);
    bool more = true;
    if (!unfinished_.empty()) {
      unfinished_ += piece;
      const std::string frame = std::exchange(unfinished_, {});
      more = on_frame(frame);
    } else if (!piece.empty()) {
      more = on_frame(piece);
    }
    if (!more) return Done{};
  }
  return Done{};
}

}  // namespace muster::kube
