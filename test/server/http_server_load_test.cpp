// The server with many peers at once: slow ones, idle ones, a new certificate, the end.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "test/server/test_server.h"

namespace http_server_load_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using namespace std::chrono_literals;

TEST_CASE("A hundred slow clients do not keep others from their answers") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) { options.workers = 4; });
  std::vector<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<TestClient>(server.port(), i % 4 == 0 ? Wire::kPlain : Wire::kTls));
    if (i % 4 == 1) slow.back()->send("POST /echo HTTP/1.1\r\nHost: ");
    if (i % 4 == 2) slow.back()->send(post("/echo", std::string(100, 'x')).substr(0, 150));
    // The fourth kind sends a large request and never reads the answer.
    if (i % 4 == 3) slow.back()->send(post("/echo", std::string(300'000, '1')));
  }
  const auto begin = std::chrono::steady_clock::now();
  TestClient client(server.port());
  for (int i = 0; i < 200; ++i) {
    const auto answer = client.exchange(post("/echo", "1"));
    REQUIRE(answer);
    CHECK(answer->status == 200);
  }
  // Below the slow clients' deadlines of 10 s, which a blocked worker would wait for.
  CHECK(std::chrono::steady_clock::now() - begin < 9s);
}

TEST_CASE("Five hundred connections at once are all answered") {
  TestServer server;
  std::vector<std::unique_ptr<TestClient>> clients(500);
  std::atomic<int> answered{0};
  {
    std::vector<std::jthread> threads;
    for (size_t part = 0; part < 10; ++part) {
      threads.emplace_back([&, part] {
        for (size_t i = part * 50; i < part * 50 + 50; ++i) clients[i] = std::make_unique<TestClient>(server.port());
        for (size_t i = part * 50; i < part * 50 + 50; ++i) clients[i]->send(post("/echo", std::to_string(i)));
        for (size_t i = part * 50; i < part * 50 + 50; ++i) {
          const auto answer = clients[i]->receive();
          if (answer && answer->body == std::to_string(i)) ++answered;
        }
      });
    }
  }
  CHECK(answered == 500);
  CHECK(server.server->open_connections() == 500);
}

TEST_CASE("A certificate is exchanged under load without a failed handshake") {
  TestServer server;
  std::atomic<bool> done{false};
  std::atomic<int> handshakes{0}, failures{0}, with_new{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!done) {
          TestClient client(server.port());
          const auto answer = client.connected() ? client.exchange(post("/echo", "1")) : std::nullopt;
          if (!answer || answer->status != 200) ++failures;
          if (client.connected() && client.server_name() != "first") ++with_new;
          ++handshakes;
        }
      });
    }
    for (int i = 0; i < 50; ++i) {
      const auto certificate = make_certificate("number " + std::to_string(i));
      REQUIRE(server.tls->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
      const int seen = handshakes;
      REQUIRE(eventually([&] { return handshakes >= seen + 4; }));
    }
    done = true;
  }
  CHECK(failures == 0);
  CHECK(with_new > 100);
  CHECK(TestClient(server.port()).server_name() == "number 49");
}

TEST_CASE("A connection made before the exchange of the certificate goes on") {
  TestServer server;
  TestClient before(server.port());
  const auto certificate = make_certificate("second");
  REQUIRE(server.tls->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
  CHECK(before.exchange(post("/echo", "1"))->status == 200);
  CHECK(before.server_name() == "first");
  CHECK(TestClient(server.port()).server_name() == "second");
}

TEST_CASE("Draining under load loses no request") {
  TestServer server;
  std::atomic<int> answered{0}, lost{0}, told{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        TestClient client(server.port());
        for (;;) {
          const auto answer = client.exchange(post("/echo", "1"));
          if (!answer) {
            ++lost;
            return;
          }
          ++answered;
          if (answer->headers.count("connection") && answer->headers.at("connection") == "close") {
            ++told;
            return;
          }
        }
      });
    }
    REQUIRE(eventually([&] { return answered > 200; }));
    server.server->drain({10s});
  }
  CHECK(lost == 0);
  CHECK(told == 8);
  CHECK(server.handled == answered);
  CHECK(server.server->open_connections() == 0);
  CHECK_FALSE(TestClient(server.port()).connected());
}

TEST_CASE("Draining answers a request that is being sent and closes idle connections") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) { options.timeouts.linger = 100ms; });
  TestClient idle(server.port());
  CHECK(idle.exchange(post("/echo", "1"))->status == 200);
  TestClient half(server.port());
  const auto request = post("/echo", "[1,2,3]");
  half.send(request.substr(0, 40));
  REQUIRE(eventually([&] { return server.server->open_connections() == 2; }));
  std::jthread drain([&] { server.server->drain({10s, 50ms}); });
  CHECK(idle.closed_by_server());  // so the closing phase has come
  const auto answer = half.exchange(request.substr(40));
  REQUIRE(answer);
  CHECK(answer->body == "[1,2,3]");
  CHECK(answer->headers.at("connection") == "close");
}

TEST_CASE("Draining answers a request that an idle connection brings within its grace, and then ends") {
  TestServer server(Wire::kTls);
  TestClient idle(server.port());
  CHECK(idle.exchange(post("/echo", "1"))->status == 200);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread drain([&] { server.server->drain({30s, 20s}); });
  REQUIRE(eventually([&] { return !TestClient(server.port()).connected(); }));
  const auto answer = idle.exchange(post("/echo", "2"));
  REQUIRE(answer);
  CHECK(answer->headers.at("connection") == "close");
  drain.join();
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("Before draining each answer closes its connection, and new connections get an answer") {
  TestServer server(Wire::kTls);
  TestClient old(server.port());
  CHECK(old.exchange(post("/echo", "1"))->headers.count("connection") == 0);
  server.server->close_after_answers();
  TestClient fresh(server.port());
  for (TestClient* client : {&old, &fresh}) {
    const auto answer = client->exchange(post("/echo", "2"));
    REQUIRE(answer);
    CHECK(answer->body == "2");
    CHECK(answer->headers.at("connection") == "close");
    CHECK(client->closed_by_server());
  }
}

TEST_CASE("Draining ends when patience is over although a peer never finishes") {
  TestServer server(Wire::kTls);
  TestClient half(server.port());
  half.send("POST /echo HTTP/1.1\r\n");
  const auto begin = std::chrono::steady_clock::now();
  server.server->drain({200ms, 10ms});
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  CHECK(half.closed_by_server());
  server.server->drain({10s});  // a second time does no harm
}

}  // namespace http_server_load_test
