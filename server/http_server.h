// One listener of muster: HTTPS for the webhooks and metrics, plain HTTP for probes.
//
// The front (connection_loop, connection, request_head) is ours: sockets, TLS, limits
// and deadlines, without waiting. A request that is complete and well-formed is run
// through cpp-httplib's process_request, over memory: it routes, calls the handler,
// turns exceptions into a bare 500 and writes the answer. So httplib never sees a
// socket, a foreign header, or a body whose end it would have to find (httplib_responder).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "server/transport/client_certificates.h"
#include "server/transport/http.h"
#include "server/transport/server_events.h"
#include "server/transport/tls_context.h"

namespace muster::server {

struct HttpServerOptions {
  std::string bind_address;         // ":9443", "127.0.0.1:0"
  std::shared_ptr<TlsContext> tls;  // null: plain HTTP
  // With TLS: request client certificates, and limit routes to clients with one (`Route::strangers`).
  std::shared_ptr<const ClientCertificates> clients{};  // null: no request
  // With TLS and without `clients`: ask for certificates and let their handlers judge them (Route::identified).
  bool identified = false;
  size_t workers = 4;
  HttpLimits limits;
  HttpTimeouts timeouts;
  ServerEventSink* events = nullptr;  // can be null; outlives the server
  const Clock* clock = &system_clock();
  // Called on the worker that has served a large request (server/transport/work_memory.h); can be empty.
  std::function<void()> after_large;
};

class HttpServer {
 public:
  HttpServer(HttpServerOptions options, Routes routes);
  // Stops at once without an earlier drain().
  ~HttpServer();

  // Binds, listens and serves on its own threads. Fails when the address is not available.
  Outcome<> start();
  // After start(): the port that is listened on.
  uint16_t port() const { return port_; }

  // Before drain(): from now on each answer says Connection: close, and a new connection is accepted and gets one
  // answer. So clients leave, and what is still open when drain() begins has had no request since. Thread-safe.
  void close_after_answers();

  // Accepts no more connections, answers running requests with Connection: close, keeps idle connections
  // for a while because a request can arrive, then closes them. Returns when all are closed, or when `times` are
  // over. To lose no request, the process first reports unready, so that clients use another replica.
  void drain(const DrainTimes& times);

  // Thread-safe.
  size_t open_connections() const;

 private:
  struct Parts;

  const HttpServerOptions options_;
  uint16_t port_ = 0;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::server
