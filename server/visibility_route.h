// Kueue's visibility API as an aggregated API: the API server passes its paths on to this listener, with the user in
// headers (request_header.h). GET only:
//   /apis, /apis/visibility.kueue.x-k8s.io, /apis/visibility.kueue.x-k8s.io/{v1beta1,v1beta2} (visibility_discovery.h)
//   the questions of visibility_answer.h
// Anything else is 404: /openapi/v2 and /openapi/v3 too, which the API server takes for a server without schemas.
//
// Without the certificate of the API server's aggregation layer every request is refused. A user of a queue needs `get`
// on its subresource pendingworkloads, decided by the API server; discovery documents are the same for all users whom
// the API server lets through. Tokens are not accepted. Refusals are Status objects.
#pragma once

#include <functional>
#include <memory>

#include "explain/lists/queue_snapshot.h"
#include "server/metrics_server.h"
#include "server/reader_answers.h"
#include "server/request_header.h"

namespace muster::server {

struct VisibilityApi {
  // null: the ConfigMap with the API server's authority was not read yet, or cannot be used.
  std::function<std::shared_ptr<const FrontProxy>()> front_proxy;
  std::function<AuthDecision(const AuthenticatedUser& user, const ListAccess& access)> authorize;
  // As Lister::snapshot.
  std::function<std::shared_ptr<const explain::QueueSnapshot>()> snapshot;
};

Routes visibility_routes(VisibilityApi api);

}  // namespace muster::server
