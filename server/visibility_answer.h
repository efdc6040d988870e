// Questions of Kueue's visibility API and their answers, asked at muster's own port (lists_route.h) or passed on by an
// API server (visibility_route.h). Pure.
//   /apis/visibility.kueue.x-k8s.io/{v1beta1,v1beta2}/clusterqueues/NAME/pendingworkloads?limit=&offset=
//   /apis/visibility.kueue.x-k8s.io/{v1beta1,v1beta2}/namespaces/NS/localqueues/NAME/pendingworkloads
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "explain/lists/pending_workloads.h"
#include "server/reader_answers.h"
#include "server/request_query.h"

namespace muster::server {

inline constexpr std::string_view kVisibilityPath = "/apis/visibility.kueue.x-k8s.io/";

struct PendingQuestion {
  std::string version;  // "v1beta2"
  ListAccess access;    // the right that it takes; names the queue
  explain::PendingPage page;
};

// `path` begins with kVisibilityPath. The error is the answer.
Result<PendingQuestion, HttpResponse> read_pending_question(std::string_view path, std::string_view query,
                                                            UnknownParameters unknown);
// null: this replica does not know the cluster yet.
HttpResponse answer_pending(const PendingQuestion& question, const explain::QueueSnapshot* snapshot);

}  // namespace muster::server
