// Frames of a watch: however the bytes are cut into pieces, the lines are the same, none is longer
// than the limit, and nothing is kept beyond it.
#include <string>
#include <string_view>
#include <vector>

#include "kube/watch_frames.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

struct Frames {
  std::vector<std::string> lines;
  bool failed = false;
};

Frames read_in_pieces(std::string_view bytes, size_t limit, size_t piece) {
  kube::WatchFrames frames(limit);
  Frames read;
  while (!bytes.empty() && !read.failed) {
    const std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    read.failed = !frames
                       .feed(next,
                             [&](std::string_view line) {
                               read.lines.emplace_back(line);
                               return true;
                             })
                       .ok();
  }
  return read;
}

// The first byte: the limit and the size of the pieces.
void check(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  const size_t limit = 16U << (choice & 7U), piece = 1 + (choice >> 3U);
  input.remove_prefix(1);
  const Frames cut = read_in_pieces(input, limit, piece), whole = read_in_pieces(input, limit, input.size() + 1);
  for (const std::string& line : cut.lines) {
    REQUIRE_THAT(!line.empty() && line.size() <= limit);
    REQUIRE_THAT(line.find('\n') == std::string::npos);
  }
  if (cut.failed || whole.failed) return;
  REQUIRE_THAT(cut.lines == whole.lines);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
