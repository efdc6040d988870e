#include "runtime/serving.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

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

}  // namespace

TEST_CASE("serving: the ages of watches are metrics and make muster unready") {
  test::HandClock clock;
  auto serving = Serving::make({.addresses = {"127.0.0.1:0", "127.0.0.1:0", "0"},
                                .tls = {},
                                .workers = 1,
                                .rules = [] { return std::make_shared<const RuleSettings>(); },
                                .view = []() -> ClusterViewPtr { return std::make_shared<const ClusterView>(); },
                                .metrics_access = {}});
  REQUIRE(serving.ok());
  const auto ages = std::make_shared<server::WatchAges>(clock);
  (*serving)->watch_ages(ages);
  REQUIRE((*serving)->start().ok());
  const auto readiness = [&] { return answer_to((*serving)->probe_port(), "/readyz?verbose"); };

  ages->heard("jobs.batch", "");
  clock.time.monotonic += 5min;
  CHECK((*serving)->metrics().expose().find(R"(muster_watch_age_seconds{resource="jobs.batch"} 300)") !=
        std::string::npos);
  CHECK(readiness().find("[+]watches ok") != std::string::npos);
  clock.time.monotonic += 7min;
  CHECK(readiness().find("[-]watches failed") != std::string::npos);
  ages->heard("jobs.batch", "");
  CHECK(readiness().find("[+]watches ok") != std::string::npos);
}

}  // namespace serving_test
