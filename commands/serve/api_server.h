// muster's side of the API server of its cluster: the client with its watches, Events, and questions about rights.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "commands/serve/serve_flags.h"
#include "kube/authorizer.h"
#include "kube/events/event_recorder.h"
#include "runtime/cluster.h"

namespace muster::commands {

// Thread-safe, as its parts are.
class ApiServer {
 public:
  // Finds the credentials; sends nothing yet. `settings` and `clock` must outlive it; `own_namespace` is muster's, and
  // `identity` is of this process.
  static Result<std::unique_ptr<ApiServer>> connect(const ServeFlags& flags, const runtime::Settings& settings,
                                                    const std::string& own_namespace, const std::string& identity,
                                                    const Clock& clock);
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Ends questions whose clients wait no longer.
  void stop() { ending_.request_stop(); }

  runtime::Cluster& cluster() { return *cluster_; }
  kube::EventRecorder& events() { return events_; }
  // Of tokens of the API server, and of tokens for muster alone.
  kube::Authorizer& authorizer() { return authorizer_; }
  kube::Authorizer& explain_authorizer() { return explain_authorizer_; }
  std::stop_token ending() const { return ending_.get_token(); }

 private:
  ApiServer(std::unique_ptr<runtime::Cluster> cluster, const std::string& own_namespace, const std::string& identity,
            const Clock& clock);

  std::stop_source ending_;
  const std::unique_ptr<runtime::Cluster> cluster_;
  kube::Authorizer authorizer_, explain_authorizer_;
  kube::EventRecorder events_;
};

}  // namespace muster::commands
