// A server on a free port of the loopback, with routes that say what reached them.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/http_server.h"
#include "test/server/test_certificate.h"
#include "test/server/test_client.h"

namespace muster::test {

class RecordingEvents final : public server::ServerEventSink {
 public:
  void on_event(server::ServerEvent event, std::string_view detail) override {
    MutexLock lock(mutex_);
    events_.emplace_back(event, std::string(detail));
    changed_.notify_all();
  }
  // Waits up to ten seconds for such an event.
  bool wait_for(server::ServerEvent wanted, std::string_view detail = "") {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    MutexLock lock(mutex_);
    for (;;) {
      for (const auto& [event, text] : events_) {
        if (event == wanted && text.find(detail) != std::string::npos) return true;
      }
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return false;
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::pair<server::ServerEvent, std::string>> events_ GUARDED_BY(mutex_);
};

// Waits for what the server will do by itself, such as forgetting a closed connection.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// POST /echo gives the body back and counts; POST /throw throws; GET /hello says "hello"; GET /hold
// keeps its worker until release().
class TestServer {
 public:
  using Adjust = std::function<void(server::HttpServerOptions&)>;

  explicit TestServer(Wire wire = Wire::kTls, const Adjust& adjust = nullptr) {
    if (wire == Wire::kTls) {
      auto made = server::TlsContext::create({});
      REQUIRE(made.ok());
      tls = *made;
      const auto certificate = make_certificate("first");
      REQUIRE(tls->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
    }
    server::HttpServerOptions options;
    options.bind_address = "127.0.0.1:0";
    options.tls = tls;
    options.events = &events;
    if (adjust) adjust(options);
    server::Routes routes = {
        {server::HttpMethod::kPost, "/echo",
         [this](const server::HttpRequest& request) {
           ++handled;
           return server::HttpResponse{200, "application/json", std::string(request.body)};
         }},
        {server::HttpMethod::kPost, "/throw",
         [](const server::HttpRequest&) -> server::HttpResponse { throw std::runtime_error("secret of the house"); }},
        {server::HttpMethod::kGet, "/hold",
         [this](const server::HttpRequest&) {
           ++holding;
           holding.notify_all();
           released.wait(false);
           return server::HttpResponse{200, "text/plain", "held"};
         }},
        {server::HttpMethod::kGet, "/hello", [](const server::HttpRequest& request) {
           return server::HttpResponse{200, "text/plain", "hello " + std::string(request.bearer_token)};
         }}};
    server = std::make_unique<server::HttpServer>(std::move(options), std::move(routes));
    const auto started = server->start();
    REQUIRE_MESSAGE(started.ok(), (started.ok() ? "" : started.error().message));
  }

  ~TestServer() { release(); }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  uint16_t port() const { return server->port(); }
  // Waits until a request to /hold has a worker.
  void await_held() { holding.wait(0); }
  void release() {
    released = true;
    released.notify_all();
  }

  RecordingEvents events;
  std::shared_ptr<server::TlsContext> tls;
  std::atomic<int> handled{0};
  std::atomic<int> holding{0};
  std::atomic<bool> released{false};
  std::unique_ptr<server::HttpServer> server;
};

}  // namespace muster::test
