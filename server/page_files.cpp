#include "server/page_files.h"

#include <array>

namespace muster::server {
namespace {

std::string_view content_type_of(std::string_view file) {
  if (file.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (file.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

}  // namespace

std::span<const HttpHeader> page_headers() {
  static constexpr std::array<HttpHeader, 6> kHeaders = {{
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
  }};
  return kHeaders;
}

std::optional<PageFile> find_page_file(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    const std::string_view served = file.path.substr(file.path.rfind('/') + 1);
    if (served == (name.empty() ? "index.html" : name)) return PageFile{content_type_of(served), file.text};
  }
  return std::nullopt;
}

}  // namespace muster::server
