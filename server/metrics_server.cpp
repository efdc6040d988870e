#include "server/metrics_server.h"

#include <utility>

namespace muster {

Route metrics_route(const Metrics& metrics, Authorizer authorizer) {
  const auto handler = [&metrics, authorizer = std::move(authorizer)](const HttpRequest& request) {
    const auto decision = authorizer ? authorizer(request.bearer_token) : AuthDecision::kAllowed;
    const auto refuse = [](int status, std::string sentence) {
      return HttpResponse{status, "text/plain; charset=utf-8", std::move(sentence)};
    };
    switch (decision) {
      case AuthDecision::kAllowed:
        break;
      case AuthDecision::kUnauthenticated:
        return refuse(401, "send a token that this cluster's API server knows, as Authorization: Bearer\n");
      case AuthDecision::kForbidden:
        return refuse(403,
                      "this token may not get the nonResourceURL /metrics: bind it to a ClusterRole that allows it\n");
      case AuthDecision::kUnavailable:
        return refuse(503, "the API server could not be asked about this token: try again\n");
    }
    return HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", metrics.expose()};
  };
  return {HttpMethod::kGet, "/metrics", handler};
}

namespace {

Routes with(Route route, Routes others) {
  others.push_back(std::move(route));
  return others;
}

}  // namespace

MetricsServer::MetricsServer(HttpServerOptions options, const Metrics& metrics, Authorizer authorizer, Routes others)
    : server_(std::move(options), with(metrics_route(metrics, std::move(authorizer)), std::move(others))) {}

}  // namespace muster
