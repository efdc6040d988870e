// The webhook server under the loads that an API server makes, as a table:
// a steady rate beside idle connections, many connections at once, and idleness.
// Starts bench_server, which is beside it, so that the server's CPU and memory are measured apart from the load
// generator's.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "test/bench/load_client.h"
#include "test/bench/process_usage.h"
#include "test/bench/sample_review.h"

using namespace muster::bench;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

namespace {

constexpr size_t kReviewBytes = 5000;
constexpr int kIdleConnections = 100;

struct Latencies {
  std::vector<double> sorted;  // milliseconds
  int failures = 0;

  double at(double share) const {
    if (sorted.empty()) return 0;
    return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
  }
};

Latencies merge(const std::vector<std::vector<double>>& parts, int failures) {
  Latencies result;
  result.failures = failures;
  for (const auto& part : parts) result.sorted.insert(result.sorted.end(), part.begin(), part.end());
  std::sort(result.sorted.begin(), result.sorted.end());
  return result;
}

void row(const char* name, const std::string& measured, const char* bound, bool met) {
  std::printf("| %-48s | %-38s | %-28s | %-3s |\n", name, measured.c_str(), bound, met ? "yes" : "NO");
}

template <class... Values>
std::string text(const char* format, Values... values) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// Open loop: a request is due at its time whether or not the ones before were
// answered, and its latency counts from then. So a stall is seen by all it delays.
Latencies steady_rate(uint16_t port, const std::string& request, int rate, std::chrono::seconds length) {
  constexpr int kConnections = 16;
  std::vector<std::vector<double>> parts(kConnections);
  std::atomic<int> failures{0};
  const auto begin = Clock::now() + std::chrono::milliseconds(500);
  {
    std::vector<std::jthread> threads;
    for (int c = 0; c < kConnections; ++c) {
      threads.emplace_back([&, c] {
        LoadClient client(port);
        const auto interval = std::chrono::nanoseconds(1'000'000'000) / rate;
        for (int i = c;; i += kConnections) {
          const auto due = begin + interval * i;
          if (due >= begin + length) return;
          std::this_thread::sleep_until(due);
          if (!client.exchange(request)) ++failures;
          parts[static_cast<size_t>(c)].push_back(Milliseconds(Clock::now() - due).count());
        }
      });
    }
  }
  return merge(parts, failures);
}

// Every connection is a new one, handshake included, and all begin together.
Latencies all_at_once(uint16_t port, const std::string& request, int connections) {
  std::vector<std::vector<double>> parts(static_cast<size_t>(connections));
  std::atomic<int> failures{0};
  std::barrier start(connections);
  {
    std::vector<std::jthread> threads;
    for (auto& part : parts) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        const auto begin = Clock::now();
        LoadClient client(port);
        if (!client.exchange(request)) ++failures;
        part.push_back(Milliseconds(Clock::now() - begin).count());
      });
    }
  }
  return merge(parts, failures);
}

double idle_share(pid_t server, std::chrono::seconds length) {
  const auto before = cpu_time(server);
  std::this_thread::sleep_for(length);
  return 100.0 * static_cast<double>((cpu_time(server) - before).count()) /
         static_cast<double>(std::chrono::nanoseconds(length).count());
}

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  const PortedChild server("bench_server");
  if (server.port() == 0) {
    std::fprintf(stderr, "bench_server did not start: build it into the same folder\n");
    return 1;
  }
  const auto port = static_cast<uint16_t>(server.port());
  const auto request = post_request("/mutate", sample_review(kReviewBytes));
  std::vector<std::unique_ptr<LoadClient>> idle;
  for (int i = 0; i < kIdleConnections; ++i) {
    idle.push_back(std::make_unique<LoadClient>(port));
    if (!idle.back()->exchange(request)) {
      std::fprintf(stderr, "bench_server does not answer\n");
      return 1;
    }
  }

  std::printf("| load | measured | bound | met |\n|---|---|---|---|\n");
  const double share = idle_share(server.pid(), std::chrono::seconds(10));
  row("100 idle connections, CPU of a core", text("%.3f %%", share), "<= 0.2 %", share <= 0.2);

  const auto cpu_before = cpu_time(server.pid());
  const auto steady = steady_rate(port, request, 1000, std::chrono::seconds(10));
  const double cpu = static_cast<double>((cpu_time(server.pid()) - cpu_before).count()) / 10e9 * 100;
  row("1,000/s of 5 kB for 10 s beside 100 idle: p50, p99",
      text("%.2f ms, %.2f ms, %d failed", steady.at(0.5), steady.at(0.99), steady.failures), "<= 1 ms, <= 5 ms",
      steady.at(0.5) <= 1 && steady.at(0.99) <= 5 && steady.failures == 0);
  std::printf("| the same: max, CPU of a core | %.2f ms, %.1f %% | | |\n", steady.sorted.back(), cpu);

  const auto burst = all_at_once(port, request, 500);
  row("500 new connections at once: p50, max",
      text("%.0f ms, %.0f ms, %d failed", burst.at(0.5), burst.sorted.back(), burst.failures),
      "all answered, none waits 1 s", burst.failures == 0 && burst.sorted.back() < 1000);
  const double resident = resident_mib(server.pid());
  row("memory after all that", text("%.1f MiB", resident), "<= 32 MiB", resident <= 32);
  return 0;
}
