#include "commands/serve/api_server.h"

#include "manifests/webhooks.h"
#include "runtime/log.h"

namespace muster::commands {

Result<std::unique_ptr<ApiServer>> ApiServer::connect(const ServeFlags& flags, const runtime::Settings& settings,
                                                      const std::string& own_namespace, const std::string& identity,
                                                      const Clock& clock) {
  const auto& limits = settings.configuration.kueue.client_connection;
  auto cluster = runtime::Cluster::connect({flags.kubeconfig, flags.context, limits.qps, limits.burst}, clock);
  if (!cluster) return fail(cluster.error().message + "; without a cluster there is --standalone");
  runtime::log_info("credentials found", {{"source", (*cluster)->source()}});
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(*cluster), own_namespace, identity, clock));
}

ApiServer::ApiServer(std::unique_ptr<runtime::Cluster> cluster, const std::string& own_namespace,
                     const std::string& identity, const Clock& clock)
    : cluster_(std::move(cluster)),
      authorizer_(cluster_->review_api(), clock, "", ending_.get_token()),
      explain_authorizer_(cluster_->review_api(), clock, std::string(manifests::kExplainAudience), ending_.get_token(),
                          std::make_unique<kube::ReaderSessions>(cluster_->review_api(), clock, own_namespace)),
      events_(cluster_->api(), kube::EventOptions{.instance = identity}, cluster_->observer(), cluster_->timing()) {}

}  // namespace muster::commands
