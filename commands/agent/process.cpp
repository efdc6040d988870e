// The edges of the agent's process: credentials, a listener, signals.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "commands/agent/agent.h"
#include "commands/agent/worker.h"
#include "commands/terminal/signals.h"
#include "kube/client.h"
#include "runtime/version.h"
#include "server/http_server.h"

namespace muster::agent {
namespace {

constexpr int kWrongEnvironment = 2;
constexpr int kNoSuchCommand = 127;  // as shells have it

double random_share() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

// The kubelet's startup probe asks here: 503 until the workers can start.
server::HttpServerOptions probe_listener(const AgentOptions& options) {
  server::HttpServerOptions listener;
  listener.bind_address = ":" + std::to_string(options.probe_port);
  listener.workers = 1;
  listener.limits.max_connections = 16;
  return listener;
}

server::Routes probe_routes(const AgentOptions& options, const std::atomic<bool>& open) {
  const auto answer = [&open](const server::HttpRequest&) {
    server::HttpResponse response;
    response.status = open ? 200 : 503;
    response.body = open ? "ok" : "waiting for the other pods of the JobSet\n";
    return response;
  };
  return {{server::HttpMethod::kGet, options.probe_path, answer}};
}

}  // namespace

int run_agent_process(const Say& say) {
  const sigset_t signals = commands::block_signals({SIGTERM, SIGINT});
  const auto refuse = [&](const std::string& why) {
    say(why);
    return kWrongEnvironment;
  };
  auto options = read_options(kube::process_variable);
  if (!options) return refuse(options.error().message);
  auto access = kube::find_cluster_access({.kubeconfig = "", .context = "", .environment = kube::process_variable});
  if (!access) return refuse(access.error().message);
  options->ns = access->ns;
  kube::KubeObserver silent;
  const kube::Timing timing{system_clock(), kube::system_sleeper(), random_share};
  kube::ClientOptions client_options;
  client_options.user_agent = kube::user_agent(runtime::kVersion, runtime::kCommit) + " in-place-restart-agent";
  auto client = kube::KubeClient::make(*std::move(access), std::move(client_options), timing, silent);
  if (!client) return refuse(client.error().message);

  const bool sidecar = options->worker_command.empty();
  std::atomic<bool> open = false;
  server::HttpServer probe(probe_listener(*options), probe_routes(*options, open));
  if (sidecar) {
    if (auto started = probe.start(); !started) return refuse("startup probe: " + started.error().message);
  }

  std::stop_source stopping;
  std::atomic<int> signal = 0;
  // Without destructors: the threads below still refer to variables of this function.
  const auto end = [&signal](int code) { std::_Exit(signal != 0 ? 128 + signal : code); };
  Worker worker;
  // Ends with the process: after a restart the pod gets no signal. A worker that gets a signal to stop has its grace
  // period: the process ends with it.
  std::thread([&signals, &signal, &stopping, &worker] {
    int taken = 0;
    if (sigwait(&signals, &taken) != 0) return;
    signal = taken;
    if (!worker.send(taken)) stopping.request_stop();
  }).detach();
  const auto open_barrier = [&] {
    open = true;
    if (sidecar) return;
    if (auto started = worker.start(options->shell, options->worker_command, end); !started) {
      say(started.error().message);
      end(kNoSuchCommand);
    }
  };
  const int code = run_agent(**client, *options, timing, open_barrier, say, stopping.get_token());
  worker.send(SIGKILL);
  end(code);
  return code;
}

}  // namespace muster::agent
