#include "server/reader_answers.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::server {

using nlohmann::json;

std::string sentence_of(const ListAccess& access) {
  std::string text = "this user cannot " + access.verb + " " + full_name(*access.type);
  if (!access.subresource.empty()) text += "/" + access.subresource;
  if (!access.name.empty()) text += " \"" + access.name + "\"";
  if (!access.type->namespaced) return text;
  return text + (access.ns.empty() ? " in all namespaces (name a namespace to see that one)"
                                   : " in namespace \"" + access.ns + "\"");
}

HttpResponse answer_json(int status, const json& body) {
  return {status, "application/json", muster::to_text(body) + "\n"};
}

HttpResponse refuse(int code, std::string_view reason, const std::string& message) {
  return answer_json(code, {{"kind", "Status"},
                            {"apiVersion", "v1"},
                            {"metadata", json::object()},
                            {"status", "Failure"},
                            {"message", message},
                            {"reason", reason},
                            {"code", code}});
}

std::string_view token_of(const HttpRequest& request) {
  return request.own_token.empty() ? request.bearer_token : request.own_token;
}

HttpResponse unauthenticated(bool sent) {
  return refuse(401, "Unauthorized",
                sent
                    ? "this token is not one for muster: it has expired, or it was made for another audience than "
                      "muster.batch/explain (a token for the API server is not taken); make one with kubectl create "
                      "token NAME --audience muster.batch/explain --duration 10m"
                    : "send a token whose audience is muster.batch/explain, as X-Muster-Token: TOKEN (through the API "
                      "server's service proxy) or as Authorization: Bearer TOKEN (directly); muster explain makes one");
}

std::optional<HttpResponse> refusal_of(AuthDecision decision, const std::string& forbidden) {
  switch (decision) {
    case AuthDecision::kAllowed:
      return std::nullopt;
    case AuthDecision::kUnauthenticated:
      return unauthenticated(true);
    case AuthDecision::kForbidden:
      return refuse(403, "Forbidden", "forbidden: " + forbidden);
    case AuthDecision::kUnproven:
      return refuse(503, "ServiceUnavailable",
                    "muster takes no ReaderSession here: the admission policy muster-reader-sessions, which proves who "
                    "creates one, is missing or does not act yet; an administrator applies the output of muster "
                    "manifests --only policies");
    case AuthDecision::kUnavailable:
      break;
  }
  return refuse(503, "ServiceUnavailable", "the API server could not be asked about this token: try again");
}

HttpResponse not_synced() {
  return refuse(503, "ServiceUnavailable",
                "this replica has not read everything from the API server yet: try again in a moment");
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  parts.push_back(path);
  return parts;
}

}  // namespace muster::server
