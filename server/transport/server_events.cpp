#include "server/transport/server_events.h"

namespace muster::server {

std::string_view to_text(ServerEvent event) {
  switch (event) {
    case ServerEvent::kHandshakeFailed:
      return "TLS handshake failed";
    case ServerEvent::kNoCertificate:
      return "connection closed: no serving certificate yet";
    case ServerEvent::kRequestRefused:
      return "request refused";
    case ServerEvent::kTimedOut:
      return "connection closed: peer too slow";
    case ServerEvent::kConnectionAbused:
      return "connection closed: TLS messages without data";
    case ServerEvent::kConnectionEvicted:
      return "connection closed to make room for another";
    case ServerEvent::kAcceptFailed:
      return "cannot accept connections";
    case ServerEvent::kHandlerFailed:
      return "request handler failed";
    case ServerEvent::kConversionFailed:
      return "an object cannot be converted";
  }
  return "unknown event";
}

}  // namespace muster::server
