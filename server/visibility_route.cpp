#include "server/visibility_route.h"

#include <utility>

#include "base/ascii.h"
#include "server/visibility_answer.h"
#include "server/visibility_discovery.h"

namespace muster::server {
namespace {

// The user, or the answer.
Result<AuthenticatedUser, HttpResponse> user_of(const HttpRequest& request, const VisibilityApi& api) {
  const std::shared_ptr<const FrontProxy> proxy = api.front_proxy();
  if (!proxy) {
    return fail_with(refuse(503, "ServiceUnavailable",
                            "muster cannot tell the API server from others yet: it has not read ConfigMap "
                            "kube-system/extension-apiserver-authentication, or cannot use it (see muster's log)"));
  }
  const PeerCertificate peer =
      request.peer == nullptr ? PeerCertificate{} : request.peer->judged_by(*proxy->authorities);
  auto user = authenticate(peer, request.headers, proxy->settings);
  if (!user) return fail_with(refuse(401, "Unauthorized", user.error().message));
  return std::move(*user);
}

std::optional<HttpResponse> refusal_of(const AuthenticatedUser& user, const ListAccess& access,
                                       const VisibilityApi& api) {
  switch (api.authorize(user, access)) {
    case AuthDecision::kAllowed:
      return std::nullopt;
    case AuthDecision::kUnavailable:
      return refuse(503, "ServiceUnavailable", "the API server could not be asked about this user: try again");
    default:
      return refuse(403, "Forbidden", "forbidden: " + sentence_of(access));
  }
}

HttpResponse answer(const HttpRequest& request, const VisibilityApi& api) {
  const auto user = user_of(request, api);
  if (!user) return user.error();
  if (auto document = visibility_discovery(request.path, header_of(request, "accept")))
    return {200, std::move(document->content_type), std::move(document->text)};
  if (!request.path.starts_with(kVisibilityPath))
    return refuse(404, "NotFound", "the server could not find the requested resource");
  const auto question = read_pending_question(request.path, request.query, UnknownParameters::kPassedOver);
  if (!question) return question.error();
  if (auto refused = refusal_of(*user, question->access, api)) return *refused;
  return answer_pending(*question, api.snapshot().get());
}

}  // namespace

Routes visibility_routes(VisibilityApi api) {
  const auto shared = std::make_shared<const VisibilityApi>(std::move(api));
  const auto route = [&](std::string path, bool prefix, size_t memory) {
    return Route{.method = HttpMethod::kGet,
                 .path = std::move(path),
                 .handler = [shared](const HttpRequest& request) { return answer(request, *shared); },
                 .prefix = prefix,
                 .memory = [memory](size_t) { return memory; },
                 .identified = true,
                 .large_answers = memory > 0};
  };
  const std::string group(kVisibilityPath.substr(0, kVisibilityPath.size() - 1));
  // Small answers do not wait for memory. The API server uses discovery to check whether the API is available.
  Routes routes;
  for (const std::string_view version : explain::kVisibilityVersions)
    routes.push_back(route(group + "/" + std::string(version) + "/", true, kListMemory));
  routes.push_back(route("/", true, 0));
  return routes;
}

}  // namespace muster::server
