#include "server/explain_route.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/meta/names.h"
#include "api/workload.h"
#include "base/mutex.h"
#include "jobs/naming/named_kind.h"
#include "server/reader_answers.h"

namespace muster::server {
namespace {

Result<ObjectKey> read_path(std::string_view path) {
  const std::vector<std::string_view> parts = path_parts(path.substr(kExplainPath.size()));
  const std::string form = "ask for " + std::string(kExplainPath) + "NAMESPACE/KIND/NAME";
  if (parts.size() != 3) return fail(form);
  const auto kind = jobs::find_named_kind(parts[1]);
  if (!kind) return fail(form + "; " + jobs::no_such_kind(parts[1]));
  if (parts[1] != kind->type->plural && parts[1] != full_name(*kind->type))
    return fail(form + ", where KIND is the plural of a kind: " + std::string(kind->type->plural));
  if (const auto wrong = is_dns1123_label(parts[0]); !wrong.empty())
    return fail("no namespace can have this name: " + join(wrong, "; "));
  if (const auto wrong = is_dns1123_subdomain(parts[2]); !wrong.empty())
    return fail("no object can have this name: " + join(wrong, "; "));
  return ObjectKey{kind->type, std::string(parts[0]), std::string(parts[2])};
}

// One object per route.
class Handler {
 public:
  explicit Handler(std::optional<Explainer> explainer) : explainer_(std::move(explainer)) {}

  HttpResponse handle(const HttpRequest& request) EXCLUDES(mutex_) {
    if (!explainer_)
      return refuse(503, "ServiceUnavailable",
                    "muster runs --standalone: it knows no cluster, and so nothing to explain");
    const std::string_view token = token_of(request);
    if (token.empty()) return unauthenticated(false);
    const auto key = read_path(request.path);
    if (!key) return refuse(400, "BadRequest", key.error().message);
    const std::string forbidden =
        "this user cannot get " + full_name(*key->type) + " \"" + key->name + "\" in namespace \"" + key->ns + "\"";
    if (auto refused = refusal_of(explainer_->authorize(token, "get", *key), forbidden)) return *refused;
    std::optional<ExplainReply> explained = ask(*key);
    if (!explained) return not_synced();
    keep_secrets(token, *explained);
    return answer_json(200, to_json(*explained));
  }

 private:
  // The engine cannot do other work during this time, so large requests wait for each other.
  std::optional<ExplainReply> ask(const ObjectKey& key) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return explainer_->ask(key);
  }

  // Names of Workloads are shown only to users who can list Workloads; the same holds for what could be meant.
  void keep_secrets(std::string_view token, ExplainReply& explained) const {
    hide_suggestions(explained, [&](const ResourceType& type) {
      return explainer_->authorize(token, "list", {&type, type.namespaced ? explained.ns : "", ""}) ==
             AuthDecision::kAllowed;
    });
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
  // The plural alone means the first kind that has it.
  const auto named = jobs::find_named_kind(key.type->plural);
  const bool is_first = named && named->type->group == key.type->group;
  return std::string(kExplainPath) + key.ns + "/" + (is_first ? std::string(key.type->plural) : full_name(*key.type)) +
         "/" + key.name;
}

Route explain_route(std::optional<Explainer> explainer) {
  auto handler = std::make_shared<Handler>(std::move(explainer));
  return {.method = HttpMethod::kGet,
          .path = std::string(kExplainPath),
          .handler = [handler](const HttpRequest& request) { return handler->handle(request); },
          .prefix = true};
}

}  // namespace muster::server
