#include "test/bench/load_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

namespace muster::bench {

namespace {

SSL_CTX* context() {
  static SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
  return made;
}

// Bytes of body that the head announces.
size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "Content-Length: ";
  const auto at = head.find(kName);
  size_t length = 0;
  if (at != std::string_view::npos) std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
  return length;
}

}  // namespace

LoadClient::LoadClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  ssl_ = SSL_new(context());
  SSL_set_fd(ssl_, fd_);
  connected_ = SSL_connect(ssl_) == 1;
}

LoadClient::~LoadClient() {
  SSL_free(ssl_);
  if (fd_ >= 0) ::close(fd_);
}

bool LoadClient::exchange(const std::string& request) {
  if (!connected_ || SSL_write(ssl_, request.data(), static_cast<int>(request.size())) <= 0) return false;
  std::string answer;
  size_t head_end = std::string::npos;
  size_t wanted = 0;
  while (head_end == std::string::npos || answer.size() < wanted) {
    char chunk[16 * 1024];
    const int got = SSL_read(ssl_, chunk, sizeof chunk);
    if (got <= 0) return false;
    answer.append(chunk, static_cast<size_t>(got));
    if (head_end == std::string::npos && (head_end = answer.find("\r\n\r\n")) != std::string::npos) {
      wanted = head_end + 4 + content_length(std::string_view(answer).substr(0, head_end));
    }
  }
  return answer.compare(0, 12, "HTTP/1.1 200") == 0;
}

std::string post_request(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: muster\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace muster::bench
