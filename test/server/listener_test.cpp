#include "server/transport/listener.h"

#include <doctest/doctest.h>

namespace listener_test {

using namespace muster;
using namespace muster::server;

TEST_CASE("Addresses to listen on are read in all their forms") {
  const auto read = [](std::string_view text) { return *parse_bind_address(text); };
  CHECK(read(":9443") == BindAddress{"", 9443});
  CHECK(read("127.0.0.1:0") == BindAddress{"127.0.0.1", 0});
  CHECK(read("[::1]:8081") == BindAddress{"::1", 8081});
  CHECK(read("localhost:65535") == BindAddress{"localhost", 65535});
}

TEST_CASE("What is no address to listen on is refused with the forms that are") {
  for (const char* text : {"", "9443", ":", "a:", ":x", ":65536", ":-1", "::1:9443", "[::1:9443", ":1 "}) {
    INFO(text);
    const auto address = parse_bind_address(text);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().message.find("host:port") != std::string::npos);
  }
}

TEST_CASE("An address without a host listens on every address of the machine") {
  const auto socket = listen_on({"", 0});
  REQUIRE(socket.ok());
  CHECK(port_of(*socket) != 0);
}

TEST_CASE("A host that does not exist is named in the error") {
  const auto socket = listen_on({"no-such-host.invalid", 0});
  REQUIRE_FALSE(socket.ok());
  CHECK(socket.error().message.find("no-such-host.invalid") != std::string::npos);
}

}  // namespace listener_test
