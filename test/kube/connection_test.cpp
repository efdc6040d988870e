// A request can be stopped at every stage, also where cpp-httplib would wait.
#include "kube/transport/connection.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "test/kube/fake_api_server.h"

namespace muster::kube::test::connection_test {
namespace {

using namespace std::chrono_literals;

// Listens and never accepts: connections are made by the kernel until the queue is
// full, and after that hang while they are being made.
class DeafServer {
 public:
  DeafServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address_), sizeof address_) == 0);
    REQUIRE(::listen(listener_, 0) == 0);
    socklen_t size = sizeof address_;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~DeafServer() {
    for (const int socket : queue_) ::close(socket);
    ::close(listener_);
  }
  void fill_queue() {
    for (int i = 0; i < 4; ++i) {
      queue_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      ::connect(queue_.back(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_);
    }
  }
  Endpoint endpoint(bool tls) const {
    Endpoint endpoint;
    endpoint.tls = tls;
    endpoint.host = "127.0.0.1";
    endpoint.port = ntohs(address_.sin_port);
    return endpoint;
  }

 private:
  const int listener_;
  sockaddr_in address_{};
  std::vector<int> queue_;
};

TEST_CASE("a stop ends an exchange at every stage of connecting") {
  struct Row {
    std::string name;
    bool tls;
    bool full;
  };
  const Row rows[] = {
      {"while the connection is being made", false, true},
      {"while TLS is being agreed on", true, false},
      {"while the answer is awaited", false, false},
  };
  const auto tls = TlsMaterial::make({});
  REQUIRE(tls.ok());
  for (const Row& row : rows) {
    for (const Duration before_stop : {0ms, 1ms, 50ms}) {  // before, during and well after the call
      CAPTURE(row.name);
      CAPTURE(before_stop.count());
      DeafServer server;
      if (row.full) server.fill_queue();
      Connection connection(server.endpoint(row.tls), *tls, system_clock());
      std::stop_source stop;
      std::jthread stopper([&] {
        std::this_thread::sleep_for(before_stop);
        stop.request_stop();
      });
      const auto started = system_clock().now().monotonic;
      const HttpHandlers ignore{[](const HttpHead&) {}, [](std::string_view) { return true; }};
      const auto done = connection.exchange({"GET", "/", {}, ""}, ignore, 30s, 30s, stop.get_token());
      REQUIRE_FALSE(done.ok());
      CHECK(done.error().kind == ConnectionError::Kind::kCancelled);
      CHECK(system_clock().now().monotonic - started < 1s);
    }
  }
}

TEST_CASE("sockets are not inherited by programs that are started") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.respond(200, "x"); });
  Endpoint endpoint;
  endpoint.tls = false;
  endpoint.host = "127.0.0.1";
  endpoint.port = server.port();
  Connection connection(endpoint, nullptr, system_clock());
  const HttpHandlers ignore{[](const HttpHead&) {}, [](std::string_view) { return true; }};
  REQUIRE(connection.exchange({"GET", "/", {}, ""}, ignore, 5s, 5s, {}).ok());
  CHECK(connection.reusable());
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (ntohs(peer.sin_port) == server.port()) CHECK((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  }
}

}  // namespace
}  // namespace muster::kube::test::connection_test
