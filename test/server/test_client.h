// A client that does exactly what a test tells it, byte by byte: httplib's own would
// be too well-behaved to try a server with. Blocking, with a limit of 20 s per call.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "test/server/test_certificate.h"

namespace muster::test {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

enum class Wire { kTls, kPlain };

// One process-wide client context: making one costs more than a handshake.
inline SSL_CTX* client_context() {
  static SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  return context;
}

class TestClient {
 public:
  // `max_tls` 0 means the newest. `own` is shown to a server that asks for it.
  explicit TestClient(uint16_t port, Wire wire = Wire::kTls, int max_tls = 0, const TestCertificate* own = nullptr)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval limit{20, 0};
    const int on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (!connected_ || wire == Wire::kPlain) return;
    ssl_.reset(SSL_new(client_context()));
    if (max_tls != 0) SSL_set_max_proto_version(ssl_.get(), max_tls);
    if (own != nullptr) show(*own);
    SSL_set_fd(ssl_.get(), fd_);
    connected_ = SSL_connect(ssl_.get()) == 1;
  }
  ~TestClient() {
    ssl_.reset();
    ::close(fd_);
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // Calls can take so long: for answers that need much computing, on a machine that is busy.
  void wait_up_to(std::chrono::seconds limit) {
    const timeval time{limit.count(), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  }
  // TCP and, with TLS, the handshake.
  bool connected() const { return connected_; }
  std::string cipher() const { return SSL_get_cipher_name(ssl_.get()); }
  std::string server_name() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_.get()), X509_free);
    char name[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof name);
    return name;
  }

  // False when the server has gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // What TLS 1.3 has that carries no data: a key update. False when the server has gone.
  bool send_without_data() {
    return SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl_.get()) == 1;
  }

  // The next answer; nothing when the connection ends before it is complete.
  std::optional<Answer> receive() {
    size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) return std::nullopt;
    }
    Answer answer;
    const std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    answer.status = std::stoi(head.substr(9, 3));
    for (size_t at = head.find("\r\n") + 2; at < head.size();) {
      const size_t line_end = head.find("\r\n", at);
      const size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      answer.headers[name] = head.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
    const size_t length = answer.headers.count("content-length") ? std::stoul(answer.headers["content-length"]) : 0;
    while (buffer_.size() < length) {
      if (!fill()) return std::nullopt;
    }
    answer.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return answer;
  }

  // Whether the server closes without a further byte.
  bool closed_by_server() { return buffer_.empty() && !fill(); }

  std::optional<Answer> exchange(std::string_view request) {
    if (!send(request)) return std::nullopt;
    return receive();
  }

 private:
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  void show(const TestCertificate& own) {
    const auto text_bio = [](const std::string& text) {
      return std::unique_ptr<BIO, decltype(&BIO_free)>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
                                                       BIO_free);
    };
    const TestX509 certificate(PEM_read_bio_X509(text_bio(own.chain_pem).get(), nullptr, nullptr, nullptr), X509_free);
    const TestKey key(PEM_read_bio_PrivateKey(text_bio(own.key_pem).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    REQUIRE(SSL_use_certificate(ssl_.get(), certificate.get()) == 1);
    REQUIRE(SSL_use_PrivateKey(ssl_.get(), key.get()) == 1);
  }

  bool fill() {
    char chunk[16 * 1024];
    const ssize_t got = ssl_ ? SSL_read(ssl_.get(), chunk, sizeof chunk) : ::recv(fd_, chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<size_t>(got));
    return true;
  }

  int fd_;
  bool connected_ = false;
  std::unique_ptr<SSL, SslFree> ssl_;
  std::string buffer_;
};

// A well-formed POST of JSON; `extra` are further header lines, each with its line end.
inline std::string post(std::string_view path, std::string_view body, std::string_view extra = "") {
  std::string request = "POST " + std::string(path) + " HTTP/1.1\r\nHost: muster\r\nContent-Type: application/json\r\n";
  request += std::string(extra) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return request + std::string(body);
}

inline std::string get(std::string_view target, std::string_view extra = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: muster\r\n" + std::string(extra) + "\r\n";
}

}  // namespace muster::test
