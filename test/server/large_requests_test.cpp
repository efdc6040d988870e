// Requests that need much memory come one after the other; small ones pass them.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "test/server/test_certificate.h"
#include "test/server/test_server.h"
#include "test/support/soak.h"

namespace large_requests_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

constexpr size_t kWork = 100 * 1024 * 1024;

// POST /large takes a thousand times its body, and waits until it is let go.
struct LargeServer {
  explicit LargeServer(const std::function<void(HttpServerOptions&)>& adjust = nullptr) {
    HttpServerOptions options;
    options.bind_address = "127.0.0.1:0";
    options.workers = 2;
    options.limits.work_memory = kWork;
    options.events = &events;
    options.after_large = [this] { ++collected; };
    if (adjust) adjust(options);
    Routes routes = {{.method = HttpMethod::kPost,
                      .path = "/large",
                      .handler =
                          [this](const HttpRequest& request) {
                            const int now = ++running;
                            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                            }
                            while (held) std::this_thread::yield();
                            --running;
                            return HttpResponse{200, "text/plain", std::to_string(request.body.size())};
                          },
                      .memory = [](size_t bytes) { return 1024 * bytes; }},
                     {.method = HttpMethod::kPost, .path = "/small", .handler = [](const HttpRequest&) {
                        return HttpResponse{200, "text/plain", "small"};
                      }}};
    server = std::make_unique<HttpServer>(std::move(options), std::move(routes));
    REQUIRE(server->start().ok());
  }
  ~LargeServer() { held = false; }

  std::atomic<bool> held{true};
  std::atomic<int> running{0}, most{0}, collected{0};
  RecordingEvents events;
  std::unique_ptr<HttpServer> server;
};

std::string large(size_t kibibytes) {
  return post("/large", std::string(kibibytes * 1024, '1'));
}

}  // namespace

TEST_CASE("Large requests wait for memory without a worker, and small ones pass them") {
  LargeServer server;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.server->port(), Wire::kPlain));
    REQUIRE(clients.back()->send(large(60)));  // 60 MiB each
  }
  REQUIRE(eventually([&] { return server.running == 1; }));
  // One worker is busy with the first; the other one still answers.
  TestClient small(server.server->port(), Wire::kPlain);
  for (int i = 0; i < 50; ++i) {
    const auto answer = small.exchange(post("/small", "{}"));
    REQUIRE(answer);
    CHECK(answer->body == "small");
  }
  CHECK(server.running == 1);
  server.held = false;
  for (const auto& client : clients) {
    const auto answer = client->receive();
    REQUIRE(answer);
    CHECK(answer->status == 200);
  }
  CHECK(server.most == 1);
  CHECK(server.collected == 6);
}

TEST_CASE("As many large requests run at once as memory is there for") {
  LargeServer server;
  TestClient one(server.server->port(), Wire::kPlain), two(server.server->port(), Wire::kPlain);
  REQUIRE(one.send(large(40)));
  REQUIRE(two.send(large(40)));
  CHECK(eventually([&] { return server.running == 2; }));
  server.held = false;
  CHECK(one.receive()->status == 200);
  CHECK(two.receive()->status == 200);
}

TEST_CASE("A request that would need more memory than there is for all is refused") {
  LargeServer server;
  TestClient client(server.server->port(), Wire::kPlain);
  const auto answer = client.exchange(large(101));
  REQUIRE(answer);
  CHECK(answer->status == 413);
  CHECK(answer->body.find("raise muster's memory limit") != std::string::npos);
}

TEST_CASE("Whoever waits too long for memory is told to try again") {
  LargeServer server([](HttpServerOptions& options) { options.timeouts.turn = 200ms; });
  TestClient first(server.server->port(), Wire::kPlain);
  REQUIRE(first.send(large(60)));
  REQUIRE(eventually([&] { return server.running == 1; }));
  TestClient second(server.server->port(), Wire::kPlain);
  const auto answer = second.exchange(large(60));
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->body.find("try again") != std::string::npos);
  server.held = false;
  CHECK(first.receive()->status == 200);
}

TEST_CASE("What a large answer takes is given back only when its peer has read it, or is given up") {
  constexpr size_t kAnswer = 60 * 1024 * 1024;
  std::atomic<int> served{0};
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  options.workers = 2;
  options.limits.work_memory = kWork;
  // The second peer reads 60 MiB within it.
  options.timeouts.response = kSanitized ? 10s : 2s;
  options.timeouts.turn = 20s;
  HttpServer server(std::move(options),
                    {{.method = HttpMethod::kGet,
                      .path = "/list",
                      .handler =
                          [&](const HttpRequest&) {
                            ++served;
                            return HttpResponse{200, "text/plain", std::string(kAnswer, 'x')};
                          },
                      .memory = [](size_t) { return kAnswer; },
                      .large_answers = true},
                     {.method = HttpMethod::kGet, .path = "/small", .handler = [](const HttpRequest&) {
                        return HttpResponse{200, "text/plain", "small"};
                      }}});
  REQUIRE(server.start().ok());
  TestClient reads_nothing(server.port(), Wire::kPlain), next(server.port(), Wire::kPlain);
  REQUIRE(reads_nothing.send(get("/list")));
  REQUIRE(eventually([&] { return served == 1; }));
  REQUIRE(next.send(get("/list")));
  TestClient small(server.port(), Wire::kPlain);
  CHECK(small.exchange(get("/small"))->body == "small");
  CHECK(served == 1);
  // The first peer is disconnected at its deadline, and makes room.
  next.wait_up_to(std::chrono::seconds(60));
  const auto answer = next.receive();
  REQUIRE(answer);
  CHECK(answer->body.size() == kAnswer);
  CHECK(served == 2);
}

}  // namespace large_requests_test
