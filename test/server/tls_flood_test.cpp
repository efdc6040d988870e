// Peers that keep TLS busy without a request: neither can hold a worker.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "test/server/test_server.h"

namespace tls_flood_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

using SteadyClock = std::chrono::steady_clock;

// Sends messages without data until the server closes or `enough` says so; how many.
int flood(TestClient& client, const std::function<bool()>& enough) {
  int sent = 0;
  while (!enough() && client.send_without_data()) ++sent;
  return sent;
}

// The longest of many reviews, one after the other, on a separate connection.
Duration slowest_review(TestClient& client, int reviews) {
  Duration slowest{};
  for (int i = 0; i < reviews; ++i) {
    const auto begin = SteadyClock::now();
    const auto answer = client.exchange(post("/echo", "1"));
    REQUIRE(answer);
    CHECK(answer->status == 200);
    slowest = std::max<Duration>(slowest, SteadyClock::now() - begin);
  }
  return slowest;
}

}  // namespace

TEST_CASE("A connection that sends TLS messages without data is closed") {
  TestServer server;
  TestClient client(server.port());
  REQUIRE(client.exchange(post("/echo", "1")));
  const auto end = SteadyClock::now() + 10s;
  flood(client, [&] { return SteadyClock::now() > end; });
  CHECK(SteadyClock::now() < end);
  CHECK(server.events.wait_for(ServerEvent::kConnectionAbused, "more than 64"));
  CHECK(eventually([&] { return server.server->open_connections() == 0; }));
}

TEST_CASE("A client may renew its keys now and then") {
  TestServer server;
  TestClient client(server.port());
  for (int i = 0; i < 20; ++i) {
    REQUIRE(client.send_without_data());
    const auto answer = client.exchange(post("/echo", "1"));
    REQUIRE(answer);
    CHECK(answer->status == 200);
  }
}

TEST_CASE("Floods of TLS messages without data, on more connections than there are workers, delay no review") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) { options.workers = 2; });
  TestClient reviewer(server.port());
  REQUIRE(reviewer.exchange(post("/echo", "1")));
  std::atomic<bool> done{false};
  std::atomic<int> sent{0};
  std::vector<std::jthread> peers;
  for (int i = 0; i < 4; ++i) {
    peers.emplace_back([&] {
      while (!done) {  // each connects again when it is thrown out
        TestClient client(server.port());
        if (client.connected()) sent += flood(client, [&] { return done.load(); });
      }
    });
  }
  REQUIRE(eventually([&] { return sent > 1000; }));
  const Duration slowest = slowest_review(reviewer, 200);
  done = true;
  // The API server waits for 5 s and more. A review behind a flood would wait for the deadline of 10 s.
  CHECK(slowest < 5s);
}

TEST_CASE("A handshake that is never finished ends at its deadline although bytes go on coming") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) {
    options.workers = 1;
    options.timeouts.handshake = 200ms;
  });
  TestClient client(server.port(), Wire::kPlain);
  // Change-cipher-spec records and the first fragments of a ClientHello are no handshake.
  const auto begin = SteadyClock::now();
  const std::string fragment("\x16\x03\x01\x00\x01\x01", 6);
  while (client.send(fragment) && SteadyClock::now() - begin < 10s) {
  }
  CHECK(SteadyClock::now() - begin < 10s);
  CHECK(eventually([&] { return server.server->open_connections() == 0; }));
}

TEST_CASE("A flood of handshakes delays the reviews of those who are connected by little") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) { options.workers = 2; });
  TestClient reviewer(server.port());
  REQUIRE(reviewer.exchange(post("/echo", "1")));
  std::atomic<bool> done{false};
  std::atomic<int> handshakes{0};
  std::vector<std::jthread> peers;
  for (int i = 0; i < 8; ++i) {
    peers.emplace_back([&] {
      while (!done) {
        if (TestClient(server.port()).connected()) ++handshakes;
      }
    });
  }
  REQUIRE(eventually([&] { return handshakes > 200; }));
  const Duration slowest = slowest_review(reviewer, 200);
  done = true;
  CHECK(slowest < 5s);
}

}  // namespace tls_flood_test
