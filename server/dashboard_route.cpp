#include "server/dashboard_route.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/meta/names.h"
#include "base/ascii.h"
#include "jobs/naming/named_kind.h"
#include "server/reader_answers.h"
#include "server/request_query.h"

namespace muster::server {
namespace {

using nlohmann::json;

// Whether the browser marks the request as a request of another page. Programs send no such mark.
bool is_foreign(const HttpRequest& request) {
  const std::string_view site = header_of(request, "sec-fetch-site");
  if (site == "cross-site" || site == "same-site") return true;
  const std::string_view origin = header_of(request, "origin");
  if (origin.empty()) return false;
  const size_t host = origin.find("://");
  return host == std::string_view::npos || origin.substr(host + 3) != header_of(request, "host");
}

// One object for all requests.
class Dashboard {
 public:
  Dashboard(std::span<const EmbeddedFile> files, std::optional<Lister> lister, std::optional<Explainer> explainer)
      : files_(files),
        lists_(list_routes(std::move(lister), false).front().handler),
        explains_(explain_route(std::move(explainer)).handler) {}

  HttpResponse answer(const HttpRequest& request) const {
    HttpResponse made = answer_within(request);
    const auto headers = page_headers();
    made.headers.assign(headers.begin(), headers.end());
    return made;
  }

 private:
  HttpResponse answer_within(const HttpRequest& request) const {
    const std::string_view rest = request.path.substr(kDashboardPath.size());
    if (const auto file = find_page_file(files_, rest))
      return {200, std::string(file->content_type), std::string(file->text)};
    if (!rest.starts_with(kApi)) return refuse(404, "NotFound", "there is no such page");
    if (is_foreign(request)) return refuse(403, "Forbidden", "another origin may not ask this dashboard");
    const std::string_view asked = rest.substr(kApi.size());
    if (asked == "context") return context(request);
    if (request.bearer_token.empty()) return no_token();
    return told(asked == "explain" ? explain(request) : list(request, asked));
  }

  // Contains only data that the address bar and muster's documents already show.
  static HttpResponse context(const HttpRequest& request) {
    return answer_json(200, {{"namespace", ""},
                             {"server", std::string(header_of(request, "host"))},
                             {"version", ""},
                             {"proxied", true},
                             {"kinds", jobs::named_kinds_with_groups()}});
  }

  HttpResponse list(const HttpRequest& request, std::string_view name) const {
    const std::string path = std::string(kListsPath).append(name);
    return lists_({.path = path, .query = request.query, .bearer_token = request.bearer_token, .body = ""});
  }

  HttpResponse explain(const HttpRequest& request) const {
    const auto values = parse_query(request.query, {"namespace", "kind", "name"});
    if (!values) return refuse(400, "BadRequest", values.error().message);
    const std::string kind = value_of(*values, "kind");
    const auto named = jobs::find_named_kind(kind);
    if (!named) return refuse(400, "BadRequest", jobs::no_such_kind(kind));
    const std::string path = explain_path({named->type, value_of(*values, "namespace"), value_of(*values, "name")});
    return explains_({.path = path, .query = "", .bearer_token = request.bearer_token, .body = ""});
  }

  static HttpResponse no_token() {
    return refuse(401, "Unauthorized",
                  "no token came with the request: the proxy in front of muster must log you in and pass your token on "
                  "as Authorization: Bearer");
  }

  // The message for users with a proxy and without a command line.
  static HttpResponse told(HttpResponse answer) {
    if (answer.status != 401) return answer;
    return refuse(401, "Unauthorized",
                  "the API server does not know the token that the proxy passes on, or it has expired: reload the page "
                  "to log in again");
  }

  static constexpr std::string_view kApi = "api/";

  const std::span<const EmbeddedFile> files_;
  const HttpHandler lists_, explains_;
};

}  // namespace

Routes dashboard_routes(std::span<const EmbeddedFile> files, std::optional<Lister> lister,
                        std::optional<Explainer> explainer) {
  auto dashboard = std::make_shared<const Dashboard>(files, std::move(lister), std::move(explainer));
  return {{.method = HttpMethod::kGet,
           .path = std::string(kDashboardPath),
           .handler = [dashboard](const HttpRequest& request) { return dashboard->answer(request); },
           .prefix = true,
           .memory = [](size_t) { return kListMemory; },
           .identified = true,
           .large_answers = true}};
}

}  // namespace muster::server
