// Lists for users, as JSON beside the metrics, with authorization:
//   GET /lists/v1/workloads?namespace=&queue=&clusterQueue=&limit=&offset=
//       &state=&labelSelector=&search=&sortBy=&finished=&submitter= (explain/lists/workload_filter.h)
//   GET /lists/v1/localqueues?namespace=     /lists/v1/clusterqueues     /lists/v1/cohorts
//   GET /lists/v1/usage?clusterQueue=
//   GET /lists/v1/holders?resource=&namespace=&queue= (or &clusterQueue=)
//   GET /apis/visibility.kueue.x-k8s.io/{v1beta1,v1beta2}/clusterqueues/NAME/pendingworkloads?limit=&offset=
//   GET /apis/visibility.kueue.x-k8s.io/{v1beta1,v1beta2}/namespaces/NS/localqueues/NAME/pendingworkloads
// Tokens and refusals are those of explain_route.h. A list of a kind takes the right to list that kind in the
// namespace, or in all where none is named. Labels of jobs are shown and compared only for kinds that the user can list
// there, beside the Workloads. The visibility API takes `get` on Kueue's subresources. The same answers
// are at an API server's own paths where the visibility API is aggregated (visibility_route.h).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta/resource_type.h"
#include "api/start_estimate.h"
#include "base/result.h"
#include "explain/lists/queue_snapshot.h"
#include "server/metrics_server.h"
#include "server/reader_answers.h"
#include "server/transport/http.h"

namespace muster::server {

inline constexpr std::string_view kListsPath = "/lists/v1/";

struct Lister {
  std::function<AuthDecision(std::string_view token, const ListAccess& access)> authorize;
  // The same for many readers; null: not everything was read from the API server yet, or muster is ending.
  std::function<std::shared_ptr<const explain::QueueSnapshot>()> snapshot;
  // The last day of a ClusterQueue; an error when nothing is known of it. nullopt: as a null snapshot.
  std::function<std::optional<Result<nlohmann::json>>(std::string_view cluster_queue)> usage;
  // When pending Workloads are estimated to start; null, or no function: nothing is known about that.
  std::function<std::shared_ptr<const StartEstimates>()> starts{};
};

// nullopt: muster has no cluster (--standalone), and every answer is 503. `visibility`: Kueue's feature gate
// VisibilityOnDemand is on; without it these paths do not exist.
Routes list_routes(std::optional<Lister> lister, bool visibility = true);

}  // namespace muster::server
