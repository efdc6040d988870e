// Heads of HTTP requests, as they come, in pieces: whatever the bytes, the verdict is the same as
// for the whole, and a head that is taken says nothing that was not sent.
#include <algorithm>
#include <string>
#include <string_view>

#include "server/transport/request_head.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

const server::Routes& routes() {
  static const server::Routes kRoutes = [] {
    const server::HttpHandler nothing = [](const server::HttpRequest&) { return server::HttpResponse{}; };
    return server::Routes{{server::HttpMethod::kPost, "/mutate", nothing},
                          {server::HttpMethod::kPost, "/convert", nothing, 48 * 1024 * 1024},
                          {server::HttpMethod::kGet, "/explain/", nothing, 0, true}};
  }();
  return kRoutes;
}

void check(std::string_view bytes) {
  const server::HttpLimits limits;
  size_t searched = 0;
  const auto whole = server::find_head_end(bytes, searched, limits);
  // A byte at a time the end is found in the same place.
  size_t searched_in_pieces = 0, seen = 0;
  auto pieces = server::find_head_end({}, searched_in_pieces, limits);
  const size_t step = bytes.size() > 512 ? bytes.size() / 64 : 1;
  while (pieces.ok() && !*pieces && seen < bytes.size()) {
    seen = std::min(bytes.size(), seen + step);
    pieces = server::find_head_end(bytes.substr(0, seen), searched_in_pieces, limits);
  }
  if (!whole.ok()) {
    REQUIRE_THAT(!whole.error().message.empty());
    return;
  }
  REQUIRE_THAT(pieces.ok() && *pieces == *whole);
  if (!*whole) return;

  const std::string_view text = bytes.substr(0, **whole);
  const auto head = server::parse_head(text, routes(), limits);
  if (!head.ok()) {
    REQUIRE_THAT(server::to_wire(head.error()).starts_with("HTTP/1.1 " + std::to_string(head.error().status)));
    REQUIRE_THAT(head.error().message.find_first_of("\r\n") == std::string::npos);
    return;
  }
  REQUIRE_THAT(head->size == text.size());
  REQUIRE_THAT(text.find(head->target) != std::string_view::npos);
  REQUIRE_THAT(text.find(head->bearer_token) != std::string_view::npos);
  REQUIRE_THAT((head->target + head->bearer_token + head->own_token).find_first_of("\r\n \t") == std::string::npos);
  const size_t most = head->route->max_body_bytes > 0 ? head->route->max_body_bytes : limits.max_body_bytes;
  REQUIRE_THAT(head->content_length <= most);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
