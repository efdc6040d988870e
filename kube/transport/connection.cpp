#include "kube/transport/connection.h"

#include <fcntl.h>
#include <httplib.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/mutex.h"
#include "base/whole_number.h"
#include "kube/transport/warning_header.h"

namespace muster::kube {
namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(10);
constexpr Duration kWriteTimeout = std::chrono::seconds(30);

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

// A second descriptor of the connection's socket, with which another thread can end the wait of this thread.
// The descriptor belongs to this class, so its number cannot be reused for another file in the meantime.
// Shutting down a socket that has not connected yet works too: Linux then ends the connect as soon as it
// begins.
class SocketHandle {
 public:
  ~SocketHandle() { reset(-1); }

  // A new socket, before it connects.
  void attach(int socket) EXCLUDES(mutex_) {
    // A peer that vanished without a word is noticed in a minute, not in ten.
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 45'000);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    reset(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  }
  // From here on a stop counts again.
  void begin() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    stopped_ = false;
  }
  // Ends the current exchange, and the sockets that it can still open.
  void stop() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    stopped_ = true;
    if (handle_ >= 0) ::shutdown(handle_, SHUT_RDWR);
  }

 private:
  void reset(int handle) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (handle_ >= 0) ::close(handle_);
    handle_ = handle;
    if (stopped_ && handle_ >= 0) ::shutdown(handle_, SHUT_RDWR);
  }

  Mutex mutex_;
  int handle_ GUARDED_BY(mutex_) = -1;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

ConnectionError failure(httplib::Error error, bool timed_out, const std::string& place) {
  using Kind = ConnectionError::Kind;
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::BindIPAddress:
      return {Kind::kNotSent,
              "cannot connect to " + place + ": " +
                  (error == httplib::Error::ConnectionTimeout ? "no answer within 10 s" : "refused or no route")};
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification: {
      const std::string problem = take_tls_problem();
      return {Kind::kNotSent, "no TLS connection to " + place + (problem.empty() ? "" : ": " + problem)};
    }
    case httplib::Error::Canceled:
      return {Kind::kCancelled, "cancelled"};
    default:
      if (timed_out) return {Kind::kTimedOut, place + " did not answer in time"};
      return {Kind::kBroken, "the connection to " + place + " broke"};
  }
}

std::vector<std::string> warnings_of(const httplib::Response& response) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < response.get_header_value_count("Warning"); ++i) {
    for (std::string& text : parse_warnings(response.get_header_value("Warning", i))) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view url) {
  Endpoint endpoint;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    endpoint.tls = false;
    endpoint.port = 80;
  } else if (rest.find("://") != std::string_view::npos) {
    return fail("server \"" + std::string(url) + "\" is neither http:// nor https://");
  }
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) endpoint.path_prefix = rest.substr(slash);
  while (endpoint.path_prefix.ends_with('/')) endpoint.path_prefix.pop_back();
  std::string_view authority = rest.substr(0, slash);
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return fail("server \"" + std::string(url) + "\" lacks a ']'");
    port = authority.substr(close + 1);
    authority = authority.substr(1, close - 1);
  } else if (const size_t colon = authority.rfind(':'); colon != std::string_view::npos) {
    port = authority.substr(colon);
    authority = authority.substr(0, colon);
  }
  endpoint.host = authority;
  if (endpoint.host.empty()) return fail("server \"" + std::string(url) + "\" names no host");
  if (!port.empty()) {
    const auto number = whole_number<uint16_t>(port.substr(1));
    if (port[0] != ':' || !number || *number == 0) return fail("server \"" + std::string(url) + "\" has no valid port");
    endpoint.port = *number;
  }
  return endpoint;
}

struct Connection::Wire {
  std::string place;          // "host:port", for messages
  std::string verified_name;  // referenced by the client's TLS context
  SocketHandle socket;
  std::unique_ptr<httplib::ClientImpl> client;
};

Connection::Connection(const Endpoint& endpoint, std::shared_ptr<const TlsMaterial> tls, const Clock& clock)
    : tls_(std::move(tls)), clock_(clock), wire_(std::make_unique<Wire>()) {
  wire_->place = endpoint.host + ":" + std::to_string(endpoint.port);
  wire_->verified_name = endpoint.server_name.empty() ? endpoint.host : endpoint.server_name;
  if (endpoint.tls) {
    auto client = std::make_unique<httplib::SSLClient>(endpoint.host, endpoint.port);
    // httplib's own verification would add the system's root certificates. Instead OpenSSL verifies in the
    // handshake, as set in configure().
    client->enable_server_certificate_verification(false);
    tls_->configure(client->ssl_context(), wire_->verified_name, endpoint.insecure);
    wire_->client = std::move(client);
  } else {
    wire_->client = std::make_unique<httplib::ClientImpl>(endpoint.host, endpoint.port);
  }
  wire_->client->set_keep_alive(true);
  wire_->client->set_tcp_nodelay(true);
  wire_->client->set_follow_location(false);
  wire_->client->set_url_encode(false);
  wire_->client->set_decompress(false);
  wire_->client->set_socket_options([this](socket_t socket) { wire_->socket.attach(static_cast<int>(socket)); });
}

Connection::~Connection() = default;

Outcome<ConnectionError> Connection::exchange(const HttpRequest& request, const HttpHandlers& handlers,
                                              Duration silence, Duration timeout, std::stop_token stop) {
  const MonotonicTime started = clock_.now().monotonic;
  const auto out_of_time = [&] { return timeout > Duration::zero() && clock_.now().monotonic - started >= timeout; };
  const Duration most = timeout > Duration::zero() ? timeout : Duration::max();
  wire_->client->set_read_timeout(std::min(silence, most));
  wire_->client->set_connection_timeout(std::min(kConnectTimeout, most));
  wire_->client->set_write_timeout(std::min(kWriteTimeout, most));

  httplib::Request wire_request;
  wire_request.method = request.method;
  wire_request.path = request.target;
  wire_request.body = request.body;
  wire_request.headers.emplace("Accept-Encoding", "identity");
  for (const auto& [name, value] : request.headers) wire_request.headers.emplace(name, value);
  bool head_seen = false;
  bool too_late = false;
  const auto take_head = [&](const httplib::Response& response) {
    if (!std::exchange(head_seen, true))
      handlers.on_head({response.status, response.get_header_value("Retry-After"), warnings_of(response)});
    return true;
  };
  wire_request.response_handler = take_head;
  wire_request.content_receiver = [&](const char* bytes, size_t size, auto, auto) {
    if (out_of_time()) return !(too_late = true);
    return handlers.on_body({bytes, size});
  };

  take_tls_problem();  // errors that an earlier handshake of this thread left
  wire_->socket.begin();
  const std::stop_callback cancel(stop, [this] { wire_->socket.stop(); });
  if (stop.stop_requested()) return fail_with(ConnectionError{ConnectionError::Kind::kCancelled, "cancelled"});
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  bool done = false;
  try {
    done = wire_->client->send(wire_request, response, error);
  } catch (const std::exception& problem) {
    wire_->client->stop();
    return fail_with(ConnectionError{ConnectionError::Kind::kBroken, wire_->place + ": " + problem.what()});
  }
  if (done) {
    take_head(response);  // answers without a body do not pass the response handler
    return Done{};
  }
  wire_->client->stop();
  if (stop.stop_requested()) return fail_with(ConnectionError{ConnectionError::Kind::kCancelled, "cancelled"});
  const bool silent = clock_.now().monotonic - started >= silence;
  if (too_late) error = httplib::Error::Read;
  return fail_with(failure(error, too_late || silent || out_of_time(), wire_->place));
}

bool Connection::reusable() const {
  if (!wire_->client->is_socket_open()) return false;
  pollfd waiting{static_cast<int>(wire_->client->socket()), POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

}  // namespace muster::kube
