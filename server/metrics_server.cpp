#include "server/metrics_server.h"

#include <utility>

namespace muster::server {

namespace {

AuthDecision judge(const MetricsAccess& access, const HttpRequest& request) {
  if (!access.bearer) return AuthDecision::kAllowed;
  if (request.own_token.empty()) return access.bearer(request.bearer_token);
  return access.own ? access.own(request.own_token) : AuthDecision::kUnauthenticated;
}

}  // namespace

Route metrics_route(const Metrics& metrics, MetricsAccess access) {
  const auto handler = [&metrics, access = std::move(access)](const HttpRequest& request) {
    const auto decision = judge(access, request);
    const auto refuse = [](int status, std::string sentence) {
      return HttpResponse{status, "text/plain; charset=utf-8", std::move(sentence)};
    };
    switch (decision) {
      case AuthDecision::kAllowed:
        break;
      case AuthDecision::kUnauthenticated:
        return refuse(
            401,
            "send a token that this cluster's API server knows, as Authorization: Bearer; or, through the API server's "
            "proxy, a token with the audience muster.batch/explain as X-Muster-Token\n");
      case AuthDecision::kForbidden:
        return refuse(403,
                      "this token may not get the nonResourceURL /metrics: bind it to a ClusterRole that allows it\n");
      case AuthDecision::kUnavailable:
      case AuthDecision::kUnproven:
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

MetricsServer::MetricsServer(HttpServerOptions options, const Metrics& metrics, MetricsAccess access, Routes others)
    : server_(std::move(options), with(metrics_route(metrics, std::move(access)), std::move(others))) {}

}  // namespace muster::server
