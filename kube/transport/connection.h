// One HTTP/1.1 connection to the API server. The only place that knows cpp-httplib.
//
// What 0.11.4 (Debian 12) does by itself and this file does otherwise: it trusts the
// system's roots in addition to the given authority, announces addresses by SNI,
// takes a connection that the server has closed for a live one when a TLS
// close_notify is still unread, waits for the connect timeout before stop() returns,
// and lets sockets be inherited by child processes.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/transport/tls.h"

namespace muster::kube {

// Where the API server is: https://host:port/prefix.
struct Endpoint {
  bool tls = true;
  std::string host;
  int port = 443;
  std::string path_prefix;  // "/k8s/clusters/c-1" behind some gateways; no trailing slash
  std::string server_name;  // verified instead of host when not empty
  bool insecure = false;
};
Result<Endpoint> parse_endpoint(std::string_view url);

struct HttpRequest {
  std::string method;
  std::string target;  // path and query, encoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

struct HttpHead {
  int status = 0;
  std::string retry_after{};            // the header's text; empty when absent
  std::vector<std::string> warnings{};  // the texts of Warning headers (kube/transport/warning_header.h)
};

// on_head comes first and once; then on_body as bytes arrive, until it returns false:
// the rest is not read and the connection not used again.
struct HttpHandlers {
  std::function<void(const HttpHead&)> on_head;
  std::function<bool(std::string_view)> on_body;
};

struct ConnectionError {
  enum class Kind {
    kNotSent,    // no connection: the server did not get the request
    kBroken,     // sent, at least in part, and no complete answer
    kTimedOut,   // sent; the answer did not come or did not end in time
    kCancelled,  // the caller's stop, or on_body returned false
  };
  Kind kind = Kind::kBroken;
  std::string message;
};

// Used by one thread at a time; moves between threads freely. Connects at first use
// and again when the server has closed it. Kept alive between exchanges.
class Connection {
 public:
  // `clock` must outlive it. `tls` is not used for plain HTTP.
  Connection(const Endpoint& endpoint, std::shared_ptr<const TlsMaterial> tls, const Clock& clock);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // `silence` bounds each wait for bytes; `timeout` (zero: none) the whole exchange.
  // A requested stop ends it within milliseconds, also while connecting; only the
  // resolver's own wait for a host name cannot be cut short.
  Outcome<ConnectionError> exchange(const HttpRequest& request, const HttpHandlers& handlers, Duration silence,
                                    Duration timeout, std::stop_token stop);

  // Whether it is open and has no pending bytes, as an unused connection must be: pending bytes mean that the server
  // closes it.
  bool reusable() const;
  const std::shared_ptr<const TlsMaterial>& tls() const { return tls_; }

 private:
  struct Wire;
  const std::shared_ptr<const TlsMaterial> tls_;
  const Clock& clock_;
  const std::unique_ptr<Wire> wire_;
};

}  // namespace muster::kube
