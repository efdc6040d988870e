#include "runtime/serving.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "test/server/test_server.h"
#include "test/support/hand_clock.h"

namespace serving_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;

namespace {

// The whole answer, over plain HTTP.
std::string answer_to(uint16_t port, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: muster\r\nConnection: close\r\n\r\n";
  REQUIRE(::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, got);
  ::close(fd);
  return answer;
}

// Without metrics; reviews and probes are served at free ports, probes only if `probes`.
std::unique_ptr<Serving> make_serving(bool probes) {
  auto serving = Serving::make({.addresses = {"127.0.0.1:0", probes ? "127.0.0.1:0" : "0", "0"},
                                .tls = {},
                                .workers = 1,
                                .rules = [] { return std::make_shared<const RuleSettings>(); },
                                .view = []() -> ClusterViewPtr { return std::make_shared<const ClusterView>(); },
                                .metrics_access = {}});
  REQUIRE(serving.ok());
  return *std::move(serving);
}

}  // namespace

TEST_CASE("serving: the ages of watches are metrics and make muster unready") {
  test::HandClock clock;
  const auto serving = make_serving(true);
  const auto ages = std::make_shared<server::WatchAges>(clock);
  serving->watch_ages(ages);
  REQUIRE(serving->start().ok());
  const auto readiness = [&] { return answer_to(serving->probe_port(), "/readyz?verbose"); };

  ages->heard("jobs.batch", "");
  clock.time.monotonic += 5min;
  CHECK(serving->metrics().expose().find(R"(muster_watch_age_seconds{resource="jobs.batch"} 300)") !=
        std::string::npos);
  CHECK(readiness().find("[+]watches ok") != std::string::npos);
  clock.time.monotonic += 7min;
  CHECK(readiness().find("[-]watches failed") != std::string::npos);
  ages->heard("jobs.batch", "");
  CHECK(readiness().find("[+]watches ok") != std::string::npos);
}

// A connection that is closed without an answer can lose the next request on it.
TEST_CASE("serving: from the signal to its end each review is answered, and the answer closes its connection") {
  const auto serving = make_serving(false);
  const test::TestCertificate certificate = test::make_certificate("muster");
  serving->set_certificate(certificate.chain_pem, certificate.key_pem, TimePoint{});
  REQUIRE(serving->start().ok());
  const auto answer_closes = [](test::TestClient& client) {
    const auto answer = client.exchange(test::post("/validate", "{}"));
    REQUIRE(answer);
    CHECK(answer->status == 400);
    return answer->headers.contains("connection");
  };
  test::TestClient old(serving->webhook_port());
  CHECK_FALSE(answer_closes(old));
  const std::jthread end([&] { serving->stop(3s); });
  CHECK(test::eventually([&] {
    test::TestClient fresh(serving->webhook_port());
    return answer_closes(fresh);
  }));
  // Not only at the end, when no connection is accepted.
  test::TestClient later(serving->webhook_port());
  REQUIRE(later.connected());
  CHECK(answer_closes(later));
  CHECK(answer_closes(old));
  CHECK(old.closed_by_server());
}

TEST_CASE("serving: the metrics have their own certificate where that is asked for, and wait for it") {
  auto made = Serving::make({.addresses = {"127.0.0.1:0", "0", "127.0.0.1:0"},
                             .tls = {},
                             .workers = 1,
                             .rules = [] { return std::make_shared<const RuleSettings>(); },
                             .view = []() -> ClusterViewPtr { return std::make_shared<const ClusterView>(); },
                             .metrics_access = {},
                             .own_metrics_certificate = true});
  REQUIRE(made.ok());
  Serving& serving = **made;
  const test::TestCertificate webhook = test::make_certificate("webhook"), metrics = test::make_certificate("metrics");
  serving.set_certificate(webhook.chain_pem, webhook.key_pem, TimePoint{});
  REQUIRE(serving.start().ok());
  CHECK(test::TestClient(serving.webhook_port()).server_name() == "webhook");
  CHECK_FALSE(test::TestClient(serving.metrics_port()).connected());
  serving.set_metrics_certificate(metrics.chain_pem, metrics.key_pem);
  CHECK(test::TestClient(serving.metrics_port()).server_name() == "metrics");
  CHECK(test::TestClient(serving.webhook_port()).server_name() == "webhook");
  serving.set_metrics_certificate("broken", metrics.key_pem);
  CHECK(test::TestClient(serving.metrics_port()).server_name() == "metrics");
}

}  // namespace serving_test
