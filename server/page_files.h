// The files of the dashboard's page, and what a browser can do with each answer beside them: the same for the command
// that serves the page on the loopback address and for muster behind a proxy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/embedded.h"
#include "server/transport/http.h"

namespace muster::server {

// The page loads nothing from elsewhere, is in no frame, and sends no form.
std::span<const HttpHeader> page_headers();

struct PageFile {
  std::string_view content_type, text;
};
// By its name without a folder; "" is the page. nullopt: there is no such file.
std::optional<PageFile> find_page_file(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace muster::server
