#include "server/explain_route.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "base/mutex.h"

namespace muster {
namespace {

using nlohmann::json;

HttpResponse answer(int status, const json& body) {
  return {status, "application/json", to_text(body) + "\n"};
}

HttpResponse refuse(int code, std::string_view reason, const std::string& message) {
  return answer(code, {{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"metadata", json::object()},
                       {"status", "Failure"},
                       {"message", message},
                       {"reason", reason},
                       {"code", code}});
}

// The parts of a path between slashes.
std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  parts.push_back(path);
  return parts;
}

Result<ObjectKey> read_path(std::string_view path) {
  const std::vector<std::string_view> parts = split(path.substr(kExplainPath.size()));
  const std::string form = "ask for " + std::string(kExplainPath) + "NAMESPACE/KIND/NAME";
  if (parts.size() != 3) return fail(form);
  const ResourceType* type = explainable_type(parts[1]);
  if (type == nullptr || type->plural != parts[1]) return fail(form + ", where KIND is jobs, jobsets or workloads");
  if (const auto wrong = is_dns1123_label(parts[0]); !wrong.empty())
    return fail("no namespace can have this name: " + join(wrong, "; "));
  if (const auto wrong = is_dns1123_subdomain(parts[2]); !wrong.empty())
    return fail("no object can have this name: " + join(wrong, "; "));
  return ObjectKey{type, std::string(parts[0]), std::string(parts[2])};
}

std::string resource_name(const ResourceType& type) {
  return std::string(type.plural) + (type.group.empty() ? "" : "." + std::string(type.group));
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

// One per route.
class Handler {
 public:
  explicit Handler(std::optional<Explainer> explainer) : explainer_(std::move(explainer)) {}

  HttpResponse handle(const HttpRequest& request) EXCLUDES(mutex_) {
    if (!explainer_)
      return refuse(503, "ServiceUnavailable",
                    "muster runs --standalone: it knows no cluster, and so nothing to explain");
    const std::string_view token = request.own_token.empty() ? request.bearer_token : request.own_token;
    if (token.empty()) return unauthenticated(false);
    const auto key = read_path(request.path);
    if (!key) return refuse(400, "BadRequest", key.error().message);
    switch (explainer_->authorize(token, "get", *key)) {
      case AuthDecision::kAllowed:
        break;
      case AuthDecision::kUnauthenticated:
        return unauthenticated(true);
      case AuthDecision::kForbidden:
        return refuse(403, "Forbidden",
                      "forbidden: this user cannot get " + resource_name(*key->type) + " \"" + key->name +
                          "\" in namespace \"" + key->ns + "\"");
      case AuthDecision::kUnavailable:
        return refuse(503, "ServiceUnavailable", "the API server could not be asked about this token: try again");
    }
    std::optional<Explained> explained = ask(*key);
    if (!explained)
      return refuse(503, "ServiceUnavailable",
                    "this replica has not read everything from the API server yet: try again in a moment");
    keep_secrets(token, *explained);
    return answer(200, to_json(*explained));
  }

 private:
  // The engine does nothing else meanwhile, so those who ask much wait for each other.
  std::optional<Explained> ask(const ObjectKey& key) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return explainer_->ask(key);
  }

  // Workloads are named only to those who may list them.
  void keep_secrets(std::string_view token, Explained& explained) const {
    const auto may_list = [&](const std::string& ns) {
      return explainer_->authorize(token, "list", {&kWorkloads, ns, ""}) == AuthDecision::kAllowed;
    };
    if (namespaces_named(explained).empty() || may_list("")) return;
    hide_names(explained, may_list);
  }

  const std::optional<Explainer> explainer_;
  Mutex mutex_;
};

}  // namespace

std::string explain_path(const ObjectKey& key) {
  return std::string(kExplainPath) + key.ns + "/" + std::string(key.type->plural) + "/" + key.name;
}

Route explain_route(std::optional<Explainer> explainer) {
  auto handler = std::make_shared<Handler>(std::move(explainer));
  return {.method = HttpMethod::kGet,
          .path = std::string(kExplainPath),
          .handler = [handler](const HttpRequest& request) { return handler->handle(request); },
          .prefix = true};
}

}  // namespace muster
