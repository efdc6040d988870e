// Request line and headers, read strictly, before a single byte of the body is
// believed. Pure: bytes in, verdict out.
//
// This is the only reader of foreign HTTP in muster. Everything that cpp-httplib
// 0.11 is too friendly to is refused here: transfer codings, compressed and
// multipart bodies, repeated or odd Content-Length, bare line feeds, folded headers
// (RFC 9112; CVE-2025-46728, -53628, -53629, -66570, CVE-2026-22776, -28435, -29076,
// -45352). Headers that are not listed in RequestHead are checked for form and
// then forgotten, so that a forged REMOTE_ADDR or an Accept-Encoding means nothing. Only routes that
// ask for all headers (Route::identified) get them, as they were sent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/transport/http.h"

namespace muster::server {

// Why a request is refused. The connection is closed after the answer, because
// where such a request ends is not known or not of interest.
struct HttpRefusal {
  int status;
  std::string message;
  std::string_view allow = {};  // the Allow header of a 405
};

struct RequestHead {
  const Route* route = nullptr;
  std::string target;  // path and query as sent
  std::string bearer_token;
  std::string own_token;  // X-Muster-Token
  // Of a route that is `identified`: names and values as sent, and the other end, which outlives the handler.
  std::vector<std::pair<std::string, std::string>> headers;
  HttpPeer* peer = nullptr;  // not the parser's
  size_t size = 0;           // bytes of the head with its empty line
  size_t content_length = 0;
  bool expects_continue = false;
  bool wants_close = false;
};

// Where the head ends: its size with the empty line, nothing while more bytes are needed, or a refusal
// when the limits are used up. `searched` stores between calls the searched size of the buffer; begin with
// 0.
Result<std::optional<size_t>, HttpRefusal> find_head_end(std::string_view buffered, size_t& searched,
                                                         const HttpLimits& limits);

// `head` ends with the empty line. The routes must outlive the result.
Result<RequestHead, HttpRefusal> parse_head(std::string_view head, const Routes& routes, const HttpLimits& limits);

// The whole answer on the wire: status line, Connection: close, one line of text.
std::string to_wire(const HttpRefusal& refusal);

}  // namespace muster::server
