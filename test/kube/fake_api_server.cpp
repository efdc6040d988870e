#include "test/kube/fake_api_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace muster::kube::test {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

Context make_context(const ServerIdentity& identity) {
  Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const auto reader = [](const std::string& pem) { return BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())); };
  BIO* bio = reader(identity.own.certificate);
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context.get(), certificate);
  X509_free(certificate);
  BIO_free(bio);
  bio = reader(identity.own.key);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_PrivateKey(context.get(), key);
  EVP_PKEY_free(key);
  BIO_free(bio);
  if (!identity.client_authority.empty()) {
    bio = reader(identity.client_authority);
    X509* authority = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority);
    X509_free(authority);
    BIO_free(bio);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  }
  return context;
}

int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

void parse_target(std::string_view target, FakeRequest& request) {
  const size_t question = target.find('?');
  request.path = decoded(target.substr(0, question));
  if (question == std::string_view::npos) return;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    request.query[decoded(pair.substr(0, equals))] = decoded(pair.substr(equals + 1));
  }
}

}  // namespace

// One accepted connection: bytes in, bytes out.
class FakeWire {
 public:
  FakeWire(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}
  ~FakeWire() {
    if (ssl_ != nullptr) SSL_free(ssl_);
  }

  bool write(std::string_view bytes) {
    while (!bytes.empty() && open_) {
      const long size = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                        : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return open_ = false;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
    return open_;
  }

  // One request; false when the client has gone.
  bool read(FakeRequest& request) {
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) return false;
    }
    const std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    const size_t line_end = head.find("\r\n");
    const std::string line = head.substr(0, line_end);
    const size_t space = line.find(' ');
    request.method = line.substr(0, space);
    parse_target(std::string_view(line).substr(space + 1, line.rfind(' ') - space - 1), request);
    for (size_t at = line_end + 2; at < head.size();) {
      const size_t stop = head.find("\r\n", at);
      const size_t colon = head.find(':', at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      const size_t value = head.find_first_not_of(' ', colon + 1);
      request.headers[name] = head.substr(value, stop - value);
      at = stop + 2;
    }
    const size_t length =
        request.headers.contains("content-length") ? std::stoul(request.headers["content-length"]) : 0;
    while (buffer_.size() < length) {
      if (!fill()) return false;
    }
    request.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return true;
  }

  // Reset rather than closed in good order: nothing that was written need arrive.
  void break_off() {
    const linger hard{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    ::shutdown(socket_, SHUT_RDWR);
    open_ = false;
  }
  bool open() const { return open_; }
  int socket() const { return socket_; }

 private:
  bool fill() {
    char bytes[16384];
    const long size = ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof bytes) : ::recv(socket_, bytes, sizeof bytes, 0);
    if (size <= 0) return open_ = false;
    buffer_.append(bytes, static_cast<size_t>(size));
    return true;
  }

  const int socket_;
  SSL* const ssl_;
  std::string buffer_;
  bool open_ = true;
};

void FakeExchange::respond(int status, const nlohmann::json& body, const Headers& headers) {
  respond_text(status, body.dump(), headers);
}

void FakeExchange::respond_text(int status, std::string_view body, const Headers& headers) {
  std::string answer =
      "HTTP/1.1 " + std::to_string(status) + " Fake\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) answer += name + ": " + value + "\r\n";
  wire_.write(answer + "\r\n" + std::string(body));
}

void FakeExchange::begin_stream() {
  wire_.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void FakeExchange::write(std::string_view bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  wire_.write(size + std::string(bytes) + "\r\n");
}

void FakeExchange::write_event(std::string_view type, const nlohmann::json& object) {
  write(nlohmann::json({{"type", type}, {"object", object}}).dump() + "\n");
}

void FakeExchange::end_stream() {
  wire_.write("0\r\n\r\n");
}
void FakeExchange::break_off() {
  wire_.break_off();
}

void FakeExchange::wait_for_close() {
  while (!stop_.stop_requested()) {
    pollfd waiting{wire_.socket(), POLLIN | POLLRDHUP, 0};
    if (::poll(&waiting, 1, 10) > 0) break;
  }
  wire_.break_off();
}

void FakeExchange::wait_for(const std::function<bool()>& ready) {
  while (!stop_.stop_requested() && !ready()) ::poll(nullptr, 0, 1);
}

FakeApiServer::FakeApiServer(Handler handler, std::optional<ServerIdentity> tls)
    : handler_(std::move(handler)), tls_(std::move(tls)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener_, 256) == 0);
  socklen_t size = sizeof address;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this](std::stop_token stop) { accept_all(stop); });
}

FakeApiServer::~FakeApiServer() {
  acceptor_.request_stop();
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  std::map<int, Connection> open;
  {
    const MutexLock lock(mutex_);
    open.swap(open_);
  }
  for (auto& [number, connection] : open) {
    connection.thread.request_stop();
    ::shutdown(connection.socket, SHUT_RDWR);
  }
  for (auto& [number, connection] : open) {
    connection.thread.join();
    ::close(connection.socket);
  }
}

void FakeApiServer::accept_all(std::stop_token stop) {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (stop.stop_requested() || socket < 0) {
      if (socket >= 0) ::close(socket);
      return;
    }
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const MutexLock lock(mutex_);
    const int number = ++accepted_;
    open_[number] = {socket, std::jthread([this, socket, number](std::stop_token end) { serve(socket, number, end); })};
  }
}

void FakeApiServer::serve(int socket, int number, std::stop_token stop) {
  Context context(nullptr, SSL_CTX_free);
  {
    const MutexLock lock(mutex_);
    if (tls_) context = make_context(*tls_);
  }
  SSL* ssl = nullptr;
  if (context) {
    ssl = SSL_new(context.get());
    SSL_set_fd(ssl, socket);
    if (SSL_accept(ssl) != 1) {
      SSL_free(ssl);
      ERR_clear_error();
      ::shutdown(socket, SHUT_RDWR);
      return;
    }
  }
  FakeWire wire(socket, ssl);
  while (!stop.stop_requested() && wire.open()) {
    FakeRequest request;
    request.connection = number;
    if (ssl != nullptr) {
      const char* announced = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
      request.server_name = announced == nullptr ? "" : announced;
      if (X509* shown = SSL_get0_peer_certificate(ssl)) {
        char name[256] = "";
        X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof name);
        request.client_common_name = name;
      }
    }
    if (!wire.read(request)) break;
    {
      const MutexLock lock(mutex_);
      requests_.push_back(request);
    }
    FakeExchange exchange(wire, stop);
    handler_(request, exchange);
  }
  ::shutdown(socket, SHUT_RDWR);
}

std::string FakeApiServer::url() const {
  const MutexLock lock(mutex_);
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

void FakeApiServer::set_identity(ServerIdentity identity) {
  const MutexLock lock(mutex_);
  tls_ = std::move(identity);
}

void FakeApiServer::drop_connections() {
  const MutexLock lock(mutex_);
  for (auto& [number, connection] : open_) ::shutdown(connection.socket, SHUT_RDWR);
}

std::vector<FakeRequest> FakeApiServer::requests() const {
  const MutexLock lock(mutex_);
  return requests_;
}

int FakeApiServer::connections() const {
  const MutexLock lock(mutex_);
  return accepted_;
}

bool eventually(const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!ready()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace muster::kube::test
