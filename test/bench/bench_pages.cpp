// Open pages of the dashboard beside reviews, with 50,000 pending Workloads: what a first page takes, what reviews lose
// by it, and what muster uses for it. The server is a separate process, with the listeners of `muster serve`: one of
// reviews and one of readers.
//
//   bench_pages [WORKLOADS] [PAGES] [SECONDS]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/readers/queue_lists.h"
#include "server/http_server.h"
#include "server/lists_route.h"
#include "server/review_handler.h"
#include "test/bench/bench_certificate.h"
#include "test/bench/load_client.h"
#include "test/bench/pending_cluster.h"
#include "test/bench/process_usage.h"
#include "test/bench/sample_review.h"

using namespace muster;
using namespace muster::bench;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr int kReviewsPerSecond = 100;
constexpr std::chrono::seconds kPageInterval(2);  // as the page asks

struct Ports {
  uint16_t reviews = 0, readers = 0;
};

[[noreturn]] void serve(int count, int answer_to) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  PendingCluster cluster;
  fill(cluster, count);
  auto view = std::make_shared<ClusterView>();
  view->put(nlohmann::json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-a"}})"));
  view->put(nlohmann::json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
    "metadata":{"name":"team-a-queue","namespace":"team-a"},"spec":{"clusterQueue":"all"}})"));
  server::MetricsOptions metrics_options;
  metrics_options.version = "bench";
  metrics_options.rules = server::all_rule_names();
  server::Metrics metrics(std::move(metrics_options));
  const auto settings = std::make_shared<const RuleSettings>();
  const server::ReviewHandler handler([&] { return settings; }, [&]() -> ClusterViewPtr { return view; }, metrics);
  auto tls = server::TlsContext::create({});
  if (!tls || !install_certificate(**tls)) std::_Exit(1);
  const auto shared = std::make_shared<runtime::SharedSnapshot>(
      [&] {
        return std::optional(explain::take_queue_listing(cluster.state, cluster.decisions, true, system_clock().now()));
      },
      system_clock());
  server::Lister lister{
      .authorize = [](std::string_view, const server::ListAccess&) { return server::AuthDecision::kAllowed; },
      .snapshot = [shared] { return shared->get(); },
      .usage = [](std::string_view) -> std::optional<Result<nlohmann::json>> { return std::nullopt; }};
  server::HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  options.tls = *tls;
  options.workers = std::max(2U, std::thread::hardware_concurrency());
  server::HttpServer reviews(options, handler.routes());
  options.workers = 4;
  server::HttpServer readers(options, server::list_routes(lister));
  if (!reviews.start() || !readers.start()) std::_Exit(1);
  const Ports ports{reviews.port(), readers.port()};
  if (write(answer_to, &ports, sizeof ports) != sizeof ports) std::_Exit(1);
  int signal = 0;
  sigwait(&ends, &signal);
  std::_Exit(0);
}

struct Load {
  std::vector<double> reviews, pages;  // milliseconds
  std::atomic<int> failures{0};
  double cpu = 0;  // of the server, in percent of a core
};

double at(std::vector<double>& times, double share) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
}

// Requests that are due at fixed times, each on the next of its connections; a latency counts from when it was due.
void ask(uint16_t port, const std::vector<std::string>& requests, int connections, std::chrono::nanoseconds interval,
         SteadyClock::time_point end, std::vector<double>& times, std::atomic<int>& failures) {
  std::vector<std::unique_ptr<LoadClient>> clients;
  for (int i = 0; i < connections; ++i) clients.push_back(std::make_unique<LoadClient>(port));
  const auto begin = SteadyClock::now();
  for (size_t i = 0;; ++i) {
    const auto due = begin + interval * static_cast<long>(i);
    if (due >= end) return;
    std::this_thread::sleep_until(due);
    if (!clients[i % clients.size()]->exchange(requests[i % requests.size()])) ++failures;
    times.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - due).count());
  }
}

void run(const Ports& ports, pid_t server, int pages, bool with_reviews, std::chrono::seconds length, Load& load) {
  const std::vector<std::string> review = {post_request("/mutate", sample_review(5000))};
  // Pages of all namespaces, of one each, and of the queue.
  std::vector<std::string> lists;
  for (int i = 0; i < 20; ++i) {
    const std::string ns = i % 2 == 0 ? "" : "namespace=team-" + std::to_string(i) + "&";
    lists.push_back("GET /lists/v1/workloads?" + ns +
                    "limit=150&offset=0 HTTP/1.1\r\nHost: bench\r\nX-Muster-Token: t\r\n\r\n");
  }
  const auto begin = SteadyClock::now();
  const auto end = begin + length;
  const auto before = cpu_time(server);
  {
    std::jthread reviewing;
    if (with_reviews)
      reviewing = std::jthread([&] {
        ask(ports.reviews, review, 8, std::chrono::nanoseconds(std::chrono::seconds(1)) / kReviewsPerSecond, end,
            load.reviews, load.failures);
      });
    // Each with a part of the pages, so that one that waits holds up few of the others.
    const int readers = std::min(pages, 20);
    std::vector<std::vector<double>> times(static_cast<size_t>(readers));
    std::vector<std::jthread> reading;
    for (int i = 0; i < readers; ++i) {
      reading.emplace_back([&, i] {
        std::this_thread::sleep_for(kPageInterval / pages * i);
        ask(ports.readers, lists, 5, std::chrono::nanoseconds(kPageInterval) * readers / pages, end,
            times[static_cast<size_t>(i)], load.failures);
      });
    }
    reading.clear();
    for (const auto& part : times) load.pages.insert(load.pages.end(), part.begin(), part.end());
  }
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  load.cpu = static_cast<double>((cpu_time(server) - before).count()) / 1e9 / seconds * 100;
}

void row(const char* what, Load& load) {
  std::printf("| %-42s | %7.2f | %7.2f | %7.2f | %7.2f | %6.1f %% | %d |\n", what, at(load.reviews, 0.5),
              at(load.reviews, 0.99), at(load.pages, 0.5), at(load.pages, 0.99), load.cpu, load.failures.load());
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const int count = argc > 1 ? std::atoi(argv[1]) : 50'000;
  const int pages = argc > 2 ? std::atoi(argv[2]) : 500;
  const std::chrono::seconds length(argc > 3 ? std::atoi(argv[3]) : 20);
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) serve(count, ends[1]);
  Ports ports;
  if (server < 0 || read(ends[0], &ports, sizeof ports) != sizeof ports) return 1;
  std::printf("%d pending Workloads; reviews: %d a second of 5 kB; each page asks every 2 s for 150 rows\n\n", count,
              kReviewsPerSecond);
  std::printf("| | review p50, ms | review p99, ms | page p50, ms | page p99, ms | CPU of a core | failed |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  Load idle, alone, one, many, all;
  run(ports, server, 0, false, std::chrono::seconds(5), idle);
  row("nothing", idle);
  run(ports, server, 0, true, length, alone);
  row("reviews", alone);
  run(ports, server, 1, true, length, one);
  row("reviews and 1 page", one);
  run(ports, server, pages, true, length, many);
  row(("reviews and " + std::to_string(pages) + " pages").c_str(), many);
  run(ports, server, pages, false, length, all);
  row((std::to_string(pages) + " pages").c_str(), all);
  kill(server, SIGTERM);
  waitpid(server, nullptr, 0);
  const int failures = idle.failures + alone.failures + one.failures + many.failures + all.failures;
  return failures == 0 ? 0 : 1;
}
