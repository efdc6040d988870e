// What a server would log. It has no logger itself: commands/serve turns
// these into structured lines.
#pragma once

#include <string_view>

namespace muster::server {

enum class ServerEvent {
  kHandshakeFailed,    // detail: OpenSSL's reason
  kNoCertificate,      // a connection came before the first set_certificate()
  kRequestRefused,     // detail: status and sentence; the request reached no handler
  kTimedOut,           // detail: which phase the peer was too slow in
  kConnectionAbused,   // the peer sent TLS messages without data; detail: how many
  kConnectionEvicted,  // a waiting connection was closed to make room: max_connections or file descriptors are used up
  kAcceptFailed,       // detail: errno's text
  kHandlerFailed,      // a handler threw; detail: what() or nothing
  kConversionFailed,   // an object has no form in the wanted version; detail: which and why
};

// "handshake failed", for a log line.
std::string_view to_text(ServerEvent event);

// Called on worker threads, several at the same time, and on the request path: be quick, and expect that unknown
// clients can cause any number of these events.
class ServerEventSink {
 public:
  virtual ~ServerEventSink() = default;
  virtual void on_event(ServerEvent event, std::string_view detail) = 0;
};

}  // namespace muster::server
