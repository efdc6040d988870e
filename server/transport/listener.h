// From "host:port" to listening sockets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/transport/channel.h"

namespace muster::server {

struct BindAddress {
  std::string host;  // empty: every address of the machine
  uint16_t port = 0;

  bool operator==(const BindAddress&) const = default;
};

// ":9443", "127.0.0.1:9443", "[::1]:9443", "localhost:9443". Port 0 takes a free one.
Result<BindAddress> parse_bind_address(std::string_view text);

// Listens with a backlog of 1,024, non-blocking. An empty host gives one socket for
// IPv6 and IPv4 together, or IPv4 alone where the machine has no IPv6.
Result<FileDescriptor> listen_on(const BindAddress& address);

// The port a socket is bound to.
uint16_t port_of(const FileDescriptor& socket);

}  // namespace muster::server
