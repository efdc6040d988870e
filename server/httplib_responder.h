// cpp-httplib behind glass: routes, handlers and answers, over memory.
//
// It gets a new head with the few fields that request_head has verified, and a body of known
// length. Other data of the client never reaches it: no Accept-Encoding (the API server's
// client sends gzip, and httplib would compress every answer), no Range, no Expect, no
// REMOTE_ADDR. That is also why two readers of one request cannot disagree about where it
// ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/transport/http.h"
#include "server/transport/request_head.h"
#include "server/transport/server_events.h"

namespace muster::server {

// Thread-safe after construction.
class HttplibResponder {
 public:
  // `events` can be null. `keep_alive` is sent to clients.
  HttplibResponder(const Routes& routes, Duration keep_alive, ServerEventSink* events);
  ~HttplibResponder();

  // Calls the handler of head.route; the whole answer as bytes.
  std::string answer(const RequestHead& head, std::string_view body, bool close) const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace muster::server
