// GET /explain/v1/namespaces/<ns>/<plural of a kind>/<name>: why it does not run, as JSON (api/explained.h), for users
// who can get that object. The kinds are those of jobs/naming/named_kind.h. It shares the listener of the metrics, and
// always needs authorization.
//
// The token comes as X-Muster-Token, since the API server's service proxy removes the Authorization header, or as
// Authorization: Bearer from direct clients. Errors are Kubernetes' Status objects. The API server also decides in
// which namespaces an answer can name Workloads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/explained.h"
#include "api/meta/resource_type.h"
#include "kinds/typed_object.h"
#include "server/metrics_server.h"
#include "server/transport/http.h"

namespace muster::server {

inline constexpr std::string_view kExplainPath = "/explain/v1/namespaces/";
// "/explain/v1/namespaces/team-a/jobs/train".
std::string explain_path(const ObjectKey& key);

struct Explainer {
  // Whether the bearer can `verb` objects of a kind; an empty namespace or name means all.
  std::function<AuthDecision(std::string_view token, std::string_view verb, const ObjectKey& object)> authorize;
  // nullopt: not everything was read from the API server yet, or muster is ending. One
  // question at a time is asked.
  std::function<std::optional<ExplainReply>(const ObjectKey& key)> ask;
};

// nullopt: muster has no cluster (--standalone), and every answer is 503.
Route explain_route(std::optional<Explainer> explainer);

}  // namespace muster::server
