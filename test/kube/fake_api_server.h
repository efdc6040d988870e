// An API server that does exactly what a test says, down to the bytes: for faults
// that a real one cannot be asked for. Plain HTTP, or TLS when given a certificate.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "test/kube/test_certificates.h"

namespace muster::kube::test {

struct FakeRequest {
  std::string method;
  std::string path;                            // decoded, without query
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  int connection = 0;              // 1 for the first accepted, and so on
  std::string client_common_name;  // of a shown client certificate
  std::string server_name;         // that the client announced by SNI
};

class FakeWire;

// What a handler does with one request. Exactly one of respond, a stream, or break_off.
class FakeExchange {
 public:
  using Headers = std::map<std::string, std::string>;

  FakeExchange(FakeWire& wire, std::stop_token stop) : wire_(wire), stop_(stop) {}
  void respond(int status, const nlohmann::json& body, const Headers& headers = {});
  void respond_text(int status, std::string_view body, const Headers& headers = {});
  // A chunked answer: begin, write as often as wanted (each a separate chunk), end.
  void begin_stream();
  void write(std::string_view bytes);
  void write_event(std::string_view type, const nlohmann::json& object);
  void end_stream();
  // Closes the connection as a crash would, whatever has been said so far.
  void break_off();
  // Blocks until the client has closed its side, or the server stops.
  void wait_for_close();
  // Blocks until `ready` holds or the server stops.
  void wait_for(const std::function<bool()>& ready);

 private:
  FakeWire& wire_;
  std::stop_token stop_;
};

// Runs until destroyed. Handlers run on one thread per connection.
class FakeApiServer {
 public:
  using Handler = std::function<void(const FakeRequest&, FakeExchange&)>;

  explicit FakeApiServer(Handler handler, std::optional<ServerIdentity> tls = std::nullopt);
  ~FakeApiServer();
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  int port() const { return port_; }
  std::string url() const;
  // For connections accepted from now on.
  void set_identity(ServerIdentity identity) EXCLUDES(mutex_);
  // Closes all connections that are open, as a restart would.
  void drop_connections() EXCLUDES(mutex_);
  std::vector<FakeRequest> requests() const EXCLUDES(mutex_);
  int connections() const EXCLUDES(mutex_);

 private:
  struct Connection {
    int socket;
    std::jthread thread;
  };
  void accept_all(std::stop_token stop);
  void serve(int socket, int number, std::stop_token stop);

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable Mutex mutex_;
  std::optional<ServerIdentity> tls_ GUARDED_BY(mutex_);
  std::vector<FakeRequest> requests_ GUARDED_BY(mutex_);
  std::map<int, Connection> open_ GUARDED_BY(mutex_);
  int accepted_ GUARDED_BY(mutex_) = 0;
  std::jthread acceptor_;
};

// Waits until `ready` holds, for at most ten seconds; false when it never did.
bool eventually(const std::function<bool()>& ready);

}  // namespace muster::kube::test
