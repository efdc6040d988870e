#include "server/transport/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/whole_number.h"

namespace muster::server {

namespace {

constexpr int kBacklog = 1024;

struct AddressesFree {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

FileDescriptor listen_at(const addrinfo& address) {
  const int type = address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC;
  FileDescriptor socket(::socket(address.ai_family, type, address.ai_protocol));
  if (!socket.valid()) return {};
  const int on = 1;
  const int off = 0;
  // After a restart the port is still in TIME_WAIT for the old connections.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0) return {};
  if (::listen(socket.get(), kBacklog) != 0) return {};
  return socket;
}

}  // namespace

Result<BindAddress> parse_bind_address(std::string_view text) {
  const auto usage = [&] {
    return fail("\"" + std::string(text) + "\" is no address to listen on: write host:port, [IPv6]:port or :port");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return usage();
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return usage();
  }
  BindAddress address{std::string(host)};
  const auto port = whole_number<decltype(address.port)>(digits);
  if (!port) return usage();
  address.port = *port;
  return address;
}

Result<FileDescriptor> listen_on(const BindAddress& address) {
  const std::string port = std::to_string(address.port);
  const std::string shown = address.host + ":" + port;
  for (const int family : {AF_INET6, AF_INET}) {
    if (family == AF_INET6 && !address.host.empty()) continue;  // a host determines its own address families
    addrinfo hints{};
    hints.ai_family = address.host.empty() ? family : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int code = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &hints, &found);
    if (code != 0) {
      if (family == AF_INET6) continue;
      return fail("cannot listen on " + shown + ": " + gai_strerror(code));
    }
    const std::unique_ptr<addrinfo, AddressesFree> addresses(found);
    for (const addrinfo* each = found; each; each = each->ai_next) {
      if (auto socket = listen_at(*each); socket.valid()) return socket;
    }
    // Only a machine without IPv6 falls back: a port in use on IPv6 must not hide behind IPv4.
    if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) break;
  }
  return fail("cannot listen on " + shown + ": " + std::strerror(errno));
}

uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace muster::server
