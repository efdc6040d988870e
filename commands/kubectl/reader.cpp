#include "commands/kubectl/reader.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/meta/names.h"
#include "commands/kubectl/leader_state.h"
#include "runtime/load_settings.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

// A token is valid for ten minutes; a watch gets a new one in time.
constexpr Duration kUseToken = std::chrono::minutes(8);

Result<runtime::Settings> load_settings(const ClusterFlags& flags) {
  return runtime::load_settings({.config_file = flags.config_file}, flags.muster_namespace);
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

Outcome<kube::StatusError> MusterReader::know_caller() {
  if (caller_) return Done{};
  auto caller = ask_for_caller(*client_, system_clock());
  if (!caller) return fail_with(caller.error());
  caller_ = std::move(*caller);
  return Done{};
}

Result<std::string> MusterReader::token(const std::string& ns) {
  const bool own = flags_.service_account.empty();
  if (made_for_ == ns && system_clock().now().monotonic < made_until_) return own ? session_->token() : made_.token;
  made_for_.clear();
  if (own) {
    if (auto known = know_caller(); !known) return fail(known.error().message);
    auto session = OwnSession::open(*client_, *caller_, ns);
    if (!session) return fail(session.error().message);
    session_ = std::move(*session);
  } else {
    auto made = make_explain_token(*client_, flags_.service_account, ns);
    if (!made) return fail(made.error().message);
    made_ = std::move(*made);
  }
  made_for_ = ns;
  made_until_ = system_clock().now().monotonic + kUseToken;
  return own ? session_->token() : made_.token;
}

// muster's own refusal of a user is final. If a service account is refused, the caller can still have the right.
NoAnswer MusterReader::judge(const kube::StatusError& error) const {
  const bool own = flags_.service_account.empty();
  const bool proxy = error.forbidden() && error.message.find("services/proxy") != std::string::npos;
  const bool away = error.unanswered() || error.code >= 500 || error.code == 404;
  const bool refused = error.code == 401 || (error.forbidden() && !own);
  return {error.message + (refused && !own ? " (asked as " + made_.account + ")" : ""), proxy || away || refused};
}

Result<nlohmann::json, NoAnswer> MusterReader::ask(const std::string& path, const kube::Query& query,
                                                   const std::string& ns) {
  const auto made = token(ns);
  if (!made) return fail_with(NoAnswer{made.error().message, true});
  kube::KubeRequest request;
  request.path = path;
  request.query = query;
  request.once = true;
  auto answer = flags_.server.empty() ? ask_through_proxy(std::move(request), *made) : ask_directly(request, *made);
  if (!answer) return fail_with(judge(answer.error()));
  return std::move(*answer);
}

std::string MusterReader::alarm() {
  if (!know_caller()) return "";
  const kube::Resource leases{"coordination.k8s.io", "v1", "leases", true, ""};
  const auto lease = client_->get(leases, flags_.muster_namespace, manifests::kLeaseName);
  if (!lease) return "";
  const auto trouble = leader_trouble(&*lease, caller_->server_time(system_clock().now()));
  return trouble ? trouble->sentence : "";
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

Outcome<> know_own_kinds(const ClusterFlags& flags) {
  if (flags.config_file.empty()) return Done{};
  if (auto settings = load_settings(flags); !settings) return fail(settings.error().message);
  return Done{};
}

Result<ReconcilerSettings> MusterReader::settings() const {
  auto settings = load_settings(flags_);
  if (!settings) return fail(settings.error().message);
  const bool native = settings->configuration.muster.jobset_controller == JobSetController::kNative;
  return runtime::reconciler_settings_of(*settings, native, flags_.muster_namespace);
}

}  // namespace muster::commands
