// muster's webhook server with the real rules and a cluster of one namespace and one
// queue, but without an API server: what the load generators measure.
//
//   bench_server [port]           serves until it is ended; prints the port
//   bench_server --review BYTES   prints a review of about that size, for wrk
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <thread>

#include "server/http_server.h"
#include "server/review_handler.h"
#include "test/bench/bench_certificate.h"
#include "test/bench/sample_review.h"

using namespace muster;

namespace {

ClusterViewPtr make_view() {
  auto view = std::make_shared<ClusterView>();
  view->put(nlohmann::json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-a"}})"));
  view->put(nlohmann::json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
    "metadata":{"name":"team-a-queue","namespace":"team-a"},"spec":{"clusterQueue":"all"}})"));
  return view;
}

int serve(const std::string& port) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  server::MetricsOptions metrics_options;
  metrics_options.version = "bench";
  metrics_options.rules = server::all_rule_names();
  server::Metrics metrics(std::move(metrics_options));
  const auto settings = std::make_shared<const RuleSettings>();
  const auto view = make_view();
  const server::ReviewHandler handler([&] { return settings; }, [&] { return view; }, metrics);

  auto tls = server::TlsContext::create({});
  if (!tls || !bench::install_certificate(**tls)) return 1;
  server::HttpServerOptions options;
  options.bind_address = "127.0.0.1:" + port;
  options.tls = *tls;
  options.workers = std::max(2u, std::thread::hardware_concurrency());  // as muster serve does
  server::HttpServer server(options, handler.routes());
  if (auto started = server.start(); !started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }
  std::cout << server.port() << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  server.drain({std::chrono::seconds(2)});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (argc == 3 && std::string(argv[1]) == "--review") {
    std::cout << bench::sample_review(std::stoul(argv[2]));
    return 0;
  }
  return serve(argc > 1 ? argv[1] : "0");
}
