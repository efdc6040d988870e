#include "commands/explain/explain.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "commands/explain/explain_local.h"
#include "commands/explain/explain_text.h"
#include "commands/explain/explain_token.h"
#include "commands/explain/explain_unqueued.h"
#include "kube/client.h"
#include "runtime/load_settings.h"
#include "runtime/version.h"
#include "server/explain_route.h"

namespace muster {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// What is asked about: an object of a kind that muster queues (`type`), or of one that it does not.
struct Target {
  const ResourceType* type;
  const UnqueuedKind* unqueued;
  std::string ns, name;
};

// "job/train"; its namespace comes later.
Result<Target> read_target(const std::string& object) {
  const size_t slash = object.find('/');
  const std::string kind = object.substr(0, slash);
  Target target{explainable_type(kind), find_unqueued_kind(kind), {}, {}};
  if (slash == std::string::npos || (target.type == nullptr && target.unqueued == nullptr))
    return fail("\"" + object + "\" is not job/NAME, jobset/NAME or workload/NAME");
  target.name = object.substr(slash + 1);
  if (const auto wrong = is_dns1123_subdomain(target.name); !wrong.empty())
    return fail("no object can be named \"" + target.name + "\": " + join(wrong, "; "));
  return target;
}

Outcome<> set_namespace(Target& target, const std::string& ns) {
  if (const auto wrong = is_dns1123_label(ns); !wrong.empty())
    return fail("no namespace can be named \"" + ns + "\": " + join(wrong, "; "));
  target.ns = ns;
  return Done{};
}

// No answer, and whether it is worth looking for one here.
struct NoAnswer {
  std::string message;
  bool look_here = false;
};

class Asking {
 public:
  Asking(const ExplainOptions& options, kube::ClusterAccess access)
      : options_(options), access_(std::move(access)), clock_(system_clock()) {}

  Outcome<> connect() {
    auto client = make_client(access_);
    if (!client) return fail(client.error().message);
    client_ = std::move(*client);
    return Done{};
  }

  // Of no use to ask muster about.
  Explained look_at_unqueued(const UnqueuedKind& kind, const std::string& ns, const std::string& name) {
    return ask_about_unqueued(*client_, kind, ns, name);
  }

  // Of muster, over the network.
  Result<Explained, NoAnswer> ask_muster(const ObjectKey& key) {
    const auto token = make_explain_token(*client_, options_.service_account, key.ns);
    if (!token) return fail_with(NoAnswer{token.error().message, true});
    const auto answer =
        options_.server.empty() ? ask_through_proxy(key, token->token) : ask_directly(key, token->token);
    if (!answer) return fail_with(judge(answer.error(), *token));
    auto explained = read_explained(*answer);
    if (!explained) return fail_with(NoAnswer{explained.error().message, true});
    return std::move(*explained);
  }

  Result<Explained> look_here(const ObjectKey& key) {
    SettingsFlags flags;
    flags.config_file = options_.config_file;
    auto settings = load_settings(flags, options_.muster_namespace);
    if (!settings) return fail(settings.error().message);
    const bool native = settings->configuration.muster.jobset_controller == JobSetController::kNative;
    return explain_locally(*client_, key, reconciler_settings_of(*settings, native, options_.muster_namespace), clock_);
  }

 private:
  Result<std::unique_ptr<kube::KubeClient>> make_client(kube::ClusterAccess access) {
    kube::ClientOptions client_options;
    client_options.user_agent = kube::user_agent(kVersion, kCommit);
    return kube::KubeClient::make(std::move(access), std::move(client_options),
                                  {clock_, kube::system_sleeper(), [] { return 0.5; }}, observer_);
  }

  kube::KubeApi::Answer ask_through_proxy(const ObjectKey& key, const std::string& token) {
    kube::KubeRequest request;
    request.path = "/api/v1/namespaces/" + options_.muster_namespace + "/services/https:" + options_.service + ":" +
                   std::string(kMetricsPortName) + "/proxy" + explain_path(key);
    request.headers = {{"X-Muster-Token", token}};
    request.once = true;
    return client_->send(request, {});
  }

  kube::KubeApi::Answer ask_directly(const ObjectKey& key, const std::string& token) {
    kube::ClusterAccess direct;
    direct.source = "--server";
    direct.server = options_.server;
    direct.certificate_authority.path = options_.server_ca;
    direct.token.data = token;
    auto client = make_client(std::move(direct));
    if (!client) return fail_with(kube::unanswered(kube::kUnreachableReason, client.error().message));
    kube::KubeRequest request;
    request.path = explain_path(key);
    request.once = true;
    return (*client)->send(request, {});
  }

  // muster's own refusal of who asks is final; what refuses another account, the caller may see.
  static NoAnswer judge(const kube::StatusError& error, const ExplainToken& token) {
    const bool proxy = error.forbidden() && error.message.find("services/proxy") != std::string::npos;
    const bool away = error.unanswered() || error.code >= 500 || error.code == 404;
    const bool refused = error.code == 401 || (error.forbidden() && !token.own);
    return {error.message + (refused ? " (asked as " + token.account + ")" : ""), proxy || away || refused};
  }

  const ExplainOptions& options_;
  const kube::ClusterAccess access_;
  const Clock& clock_;
  kube::KubeObserver observer_;
  std::unique_ptr<kube::KubeClient> client_;
};

Result<Explained> find_answer(Asking& asking, const ExplainOptions& options, const Target& target) {
  if (target.type == nullptr) return asking.look_at_unqueued(*target.unqueued, target.ns, target.name);
  const ObjectKey key{target.type, target.ns, target.name};
  std::string why_not;
  if (!options.local) {
    auto answer = asking.ask_muster(key);
    if (answer) return std::move(*answer);
    if (!answer.error().look_here) return fail(answer.error().message);
    why_not = answer.error().message;
  }
  auto answer = asking.look_here(key);
  if (answer && !why_not.empty()) answer->notes.push_back("muster did not answer: " + why_not);
  return answer;
}

}  // namespace

int explain(const ExplainOptions& options, std::ostream& out, std::ostream& err) {
  const auto stop = [&](int code, const std::string& why) {
    err << "muster explain: " << why << "\n";
    return code;
  };
  // What is wrong with the command line is said first, with a cluster or without.
  auto target = read_target(options.object);
  if (!target) return stop(kExplainUnusable, target.error().message);
  if (!options.ns.empty()) {
    if (auto named = set_namespace(*target, options.ns); !named) return stop(kExplainUnusable, named.error().message);
  }
  auto access = kube::find_cluster_access(
      {.kubeconfig = options.kubeconfig, .context = options.context, .environment = environment});
  if (!access) return stop(kExplainNoAnswer, access.error().message);
  if (options.ns.empty()) {
    if (auto named = set_namespace(*target, access->ns); !named) return stop(kExplainUnusable, named.error().message);
  }
  Asking asking(options, std::move(*access));
  if (auto connected = asking.connect(); !connected) return stop(kExplainNoAnswer, connected.error().message);
  const auto answer = find_answer(asking, options, *target);
  if (!answer) return stop(kExplainNoAnswer, answer.error().message);
  out << (options.format == ExplainFormat::kJson ? to_text(to_json(*answer)) + "\n" : explain_text(*answer));
  return answer->found ? kExplainAnswered : kExplainNoAnswer;
}

}  // namespace muster
