// The HTTP types that the rest of muster uses: a route, the input of its handler, its answer. httplib, sockets and TLS
// are not visible here.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace muster::server {

class ClientAuthorities;

// What a client has shown of itself in the handshake, as some authorities judge it.
struct PeerCertificate {
  bool shown = false;
  std::string distrust;                   // why no authority vouches for it now; empty: one does
  std::vector<std::string> common_names;  // of its subject, unchanged
};

// The other end of a connection. Used on the thread that serves the request.
class HttpPeer {
 public:
  virtual ~HttpPeer() = default;
  virtual PeerCertificate judged_by(const ClientAuthorities& authorities) = 0;
};

// As sent, without white space around the value.
struct HttpHeader {
  std::string_view name, value;
};

// One complete request. The views live until the handler returns.
struct HttpRequest {
  std::string_view path;          // exactly the route's path, or what begins with it
  std::string_view query;         // behind the '?', undecoded; can be empty
  std::string_view bearer_token;  // of the Authorization header; empty when there is none
  std::string_view body;
  // Of the X-Muster-Token header, for requests that come through a proxy which takes the
  // Authorization header for itself.
  std::string_view own_token{};
  // All headers, and the peer; empty and null except for routes that need them (Route::identified).
  std::span<const HttpHeader> headers{};
  HttpPeer* peer{};
};

// The value of the first header of this name, which is in small letters; empty: there is none.
std::string_view header_of(const HttpRequest& request, std::string_view name);

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // Further ones, of what a browser can do with it; never with bytes from a request.
  std::vector<HttpHeader> headers{};  // of texts that outlive the answer
};

// Runs on a worker thread, several at the same time. What it throws becomes a
// bare 500: the text of an exception never reaches the wire.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

enum class HttpMethod {
  kGet,   // must come without a body
  kPost,  // must come with Content-Length and the content type application/json
};

// Paths are compared byte by byte: no patterns, no decoding, no directories. What follows a
// prefix is of letters, digits, '-', '.' and '/', and short.
struct Route {
  HttpMethod method;
  std::string path;
  HttpHandler handler;
  size_t max_body_bytes{};  // instead of HttpLimits' for this path; 0: that one
  bool prefix{};            // every path that begins with `path`
  // The maximum memory of the handler for a body of this size, beside the body; empty, or up to kLightMemory: too
  // little to be counted.
  std::function<size_t(size_t body_bytes)> memory{};
  // Also for clients without a certificate, where the listener asks for one.
  bool strangers{};
  // The handler authenticates the client by all headers and by the peer's certificate.
  bool identified{};
  // `memory` is released only when the peer has read the answer, which is the largest part.
  bool large_answers{};
};
using Routes = std::vector<Route>;

// What a worker can use without asking.
inline constexpr size_t kLightMemory = 8 * 1024 * 1024;

struct HttpLimits {
  size_t max_head_bytes = 64 * 1024;             // request line and headers together
  size_t max_line_bytes = 8000;                  // each of them; a little below httplib's own limit
  size_t max_body_bytes = 7 * 1024 * 1024;       // as controller-runtime: object and oldObject of 3 MiB each
  size_t max_buffered_bytes = 64 * 1024 * 1024;  // of all connections that are being read or written
  // Of all running handlers, except light ones. A handler that needs more than is free waits.
  size_t work_memory = 512 * 1024 * 1024;
  size_t max_connections = 4096;
};

// How long a peer can take. Each clock starts with its phase and is not wound up
// by a further byte, so that a slow client cannot hold a connection for longer.
struct HttpTimeouts {
  Duration handshake = std::chrono::seconds(10);
  Duration request = std::chrono::seconds(10);   // from its first byte to its last
  Duration response = std::chrono::seconds(10);  // until the peer has taken it
  Duration turn = std::chrono::seconds(10);      // until a large request is begun with
  // Longer than the 90 s after which the API server's client drops an idle
  // connection: it does not repeat a POST that meets our close.
  Duration idle = std::chrono::seconds(120);
  // After our last byte, for the peer to read it and close.
  Duration linger = std::chrono::seconds(2);
};

// How a server ends.
struct DrainTimes {
  Duration patience;  // until the last connection is closed
  // How long idle connections are kept for a request that is on its way. Part of `patience`.
  Duration idle_grace = std::chrono::milliseconds(500);
};

}  // namespace muster::server
