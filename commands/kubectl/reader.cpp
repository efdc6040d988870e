#include "commands/kubectl/reader.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/meta/names.h"
#include "runtime/load_settings.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

// The token is valid for ten minutes; a watch gets a new token in time.
constexpr Duration kUseToken = std::chrono::minutes(8);

// muster's own refusal of a user is final. If another account is refused, the caller can still have the right.
NoAnswer judge(const kube::StatusError& error, const ExplainToken& token) {
  const bool proxy = error.forbidden() && error.message.find("services/proxy") != std::string::npos;
  const bool away = error.unanswered() || error.code >= 500 || error.code == 404;
  const bool refused = error.code == 401 || (error.forbidden() && !token.own);
  return {error.message + (refused ? " (asked as " + token.account + ")" : ""), proxy || away || refused};
}

}  // namespace

Result<std::unique_ptr<MusterReader>> MusterReader::connect(const ClusterFlags& flags) {
  auto access = kube::find_cluster_access(
      {.kubeconfig = flags.kubeconfig, .context = flags.context, .environment = kube::process_variable});
  if (!access) return fail(access.error().message);
  access->impersonate_user = flags.as_user;
  access->impersonate_groups = flags.as_groups;
  std::unique_ptr<MusterReader> reader(new MusterReader(flags, std::move(*access)));
  reader->ns_ = flags.ns.empty() ? reader->access_.ns : flags.ns;
  if (const auto wrong = is_dns1123_label(reader->ns_); !wrong.empty())
    return fail("no namespace can be named \"" + reader->ns_ + "\": " + join(wrong, "; "));
  auto client = reader->make_client(reader->access_);
  if (!client) return fail(client.error().message);
  reader->client_ = std::move(*client);
  return reader;
}

Result<std::unique_ptr<kube::KubeClient>> MusterReader::make_client(kube::ClusterAccess access) {
  kube::ClientOptions options;
  options.user_agent = kube::user_agent(runtime::kVersion, runtime::kCommit);
  options.request_timeout = flags_.request_timeout;
  return kube::KubeClient::make(std::move(access), std::move(options),
                                {system_clock(), kube::system_sleeper(), [] { return 0.5; }}, observer_);
}

Result<nlohmann::json, NoAnswer> MusterReader::ask(const std::string& path, const kube::Query& query,
                                                   const std::string& ns) {
  if (made_for_ != ns || system_clock().now().monotonic >= made_until_) {
    auto token = make_explain_token(*client_, flags_.service_account, ns);
    if (!token) return fail_with(NoAnswer{token.error().message, true});
    made_ = std::move(*token);
    made_for_ = ns;
    made_until_ = system_clock().now().monotonic + kUseToken;
  }
  kube::KubeRequest request;
  request.path = path;
  request.query = query;
  request.once = true;
  auto answer =
      flags_.server.empty() ? ask_through_proxy(std::move(request), made_.token) : ask_directly(request, made_.token);
  if (!answer) return fail_with(judge(answer.error(), made_));
  return std::move(*answer);
}

kube::KubeApi::Answer MusterReader::ask_through_proxy(kube::KubeRequest request, const std::string& token) {
  request.path = "/api/v1/namespaces/" + flags_.muster_namespace + "/services/https:" + flags_.service + ":" +
                 std::string(manifests::kMetricsPortName) + "/proxy" + request.path;
  request.headers = {{kExplainTokenHeader, token}};
  return client_->send(request, {});
}

kube::KubeApi::Answer MusterReader::ask_directly(const kube::KubeRequest& request, const std::string& token) {
  kube::ClusterAccess direct;
  direct.source = "--server";
  direct.server = flags_.server;
  direct.certificate_authority.path = flags_.server_ca;
  direct.token.data = token;
  auto client = make_client(std::move(direct));
  if (!client) return fail_with(kube::unanswered(kube::kUnreachableReason, client.error().message));
  return (*client)->send(request, {});
}

Result<ReconcilerSettings> MusterReader::settings() const {
  runtime::SettingsFlags flags;
  flags.config_file = flags_.config_file;
  auto settings = runtime::load_settings(flags, flags_.muster_namespace);
  if (!settings) return fail(settings.error().message);
  const bool native = settings->configuration.muster.jobset_controller == JobSetController::kNative;
  return runtime::reconciler_settings_of(*settings, native, flags_.muster_namespace);
}

}  // namespace muster::commands
