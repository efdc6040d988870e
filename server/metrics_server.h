// GET /metrics over HTTPS, with authorization; other routes can share its listener.
#pragma once

#include <functional>
#include <string_view>

#include "server/http_server.h"
#include "server/metrics/metrics.h"

namespace muster::server {

enum class AuthDecision {
  kAllowed,
  kUnauthenticated,  // 401: no token, or one that the API server does not know
  kForbidden,        // 403: known, but not allowed to get /metrics
  kUnavailable,      // 503: the API server could not be asked
  kUnproven,         // 503: a session, in a cluster without the policy that proves who creates one
};

// Called for every request with its token, which can be empty. It can be slow (a TokenReview): it holds one
// worker of this listener only.
using Authorizer = std::function<AuthDecision(std::string_view token)>;

struct MetricsAccess {
  // Judges the token of the Authorization header, which is one for the API server. Empty: all clients are allowed.
  Authorizer bearer{};
  // Judges X-Muster-Token, which is one for muster alone: for readers behind the API server's proxy, which removes the
  // Authorization header. A request with it is judged by it alone. Empty: such a request is refused.
  Authorizer own{};
};

// `metrics` outlives the route.
Route metrics_route(const Metrics& metrics, MetricsAccess access);

// options.bind_address is ":8443" by convention; options.tls is shared with the webhooks.
class MetricsServer {
 public:
  MetricsServer(HttpServerOptions options, const Metrics& metrics, MetricsAccess access, Routes others = {});

  Outcome<> start() { return server_.start(); }
  uint16_t port() const { return server_.port(); }
  void drain(const DrainTimes& times) { server_.drain(times); }

 private:
  HttpServer server_;
};

}  // namespace muster::server
