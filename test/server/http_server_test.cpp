#include "server/http_server.h"

#include <doctest/doctest.h>

#include <fstream>

#include "test/server/test_server.h"

namespace http_server_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

size_t resident_kib() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4;
}

}  // namespace

TEST_CASE("A request is answered over TLS and the connection stays open") {
  TestServer server;
  TestClient client(server.port());
  REQUIRE(client.connected());
  for (int i = 0; i < 20; ++i) {
    const auto answer = client.exchange(post("/echo?timeout=5s", R"({"a":1})"));
    REQUIRE(answer);
    CHECK(answer->status == 200);
    CHECK(answer->body == R"({"a":1})");
    CHECK(answer->headers.at("content-type") == "application/json");
    CHECK(answer->headers.at("keep-alive").substr(0, 12) == "timeout=120,");
  }
  CHECK(server.handled == 20);
}

TEST_CASE("An answer is not compressed although the client would take gzip") {
  TestServer server;
  TestClient client(server.port());
  const auto answer = client.exchange(post("/echo", std::string(5000, '1'), "Accept-Encoding: gzip, br\r\n"));
  REQUIRE(answer);
  CHECK(answer->headers.count("content-encoding") == 0);
  CHECK(answer->body == std::string(5000, '1'));
}

TEST_CASE("A range is not cut out of an answer") {
  TestServer server;
  TestClient client(server.port());
  const auto answer = client.exchange(post("/echo", "123456", "Range: bytes=0-1\r\n"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "123456");
}

TEST_CASE("A refused request gets its status and the connection is closed") {
  struct Row {
    std::string name;
    std::string request;
    int status;
  };
  std::string many_headers = "POST /echo HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 200'000; ++i) many_headers += "A: b\r\n";
  const std::string type = "Content-Type: application/json\r\n";
  const std::string start = "POST /echo HTTP/1.1\r\nHost: a\r\n" + type;
  const Row rows[] = {
      {"chunked", start + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 411},
      {"a chunk size that wraps", start + "Transfer-Encoding: chunked\r\n\r\n-2\r\nhello\r\n", 411},
      {"gzip", post("/echo", "\x1f\x8b\x08\x00 bomb", "Content-Encoding: gzip\r\n"), 415},
      {"multipart",
       "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=" + std::string(5000, '-') +
           "\r\nContent-Length: 3\r\n\r\nabc",
       415},
      {"200,000 headers", many_headers + "\r\n", 431},
      {"an endless request line", "POST /" + std::string(70'000, 'a'), 414},
      {"a negative length", start + "Content-Length: -1\r\n\r\n", 400},
      {"a huge length", start + "Content-Length: 18446744073709551615\r\n\r\n", 413},
      {"a repeated length", start + "Content-Length: 3\r\nContent-Length: 30\r\n\r\nabc", 400},
      {"a wrong path", post("/nowhere", "{}"), 404},
      {"a wrong method", get("/echo"), 405},
      {"HTTP/1.0", "GET /hello HTTP/1.0\r\nHost: a\r\n\r\n", 505},
      {"bytes that are no HTTP", "\x01\x02\x03\r\n\r\n", 400},
  };
  TestServer server;
  for (const auto& row : rows) {
    INFO(row.name);
    TestClient client(server.port());
    client.send(row.request);
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == row.status);
    CHECK(answer->headers.at("connection") == "close");
    CHECK(client.closed_by_server());
  }
  CHECK(server.handled == 0);
  CHECK(server.events.wait_for(ServerEvent::kRequestRefused, "413"));
}

TEST_CASE("A body of 8 MiB is refused before it is read and costs no memory") {
  TestServer server;
  const std::string body(1024 * 1024, 'x');
  const size_t before = resident_kib();
  {
    TestClient client(server.port());
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n");
    for (int i = 0; i < 8; ++i) client.send(body);
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->status == 413);
    CHECK(client.closed_by_server());
  }
  CHECK(server.handled == 0);
  CHECK(resident_kib() < before + 6 * 1024);
}

TEST_CASE("The largest body is taken and its memory is given back") {
  TestServer server;
  TestClient client(server.port());
  const auto answer = client.exchange(post("/echo", std::string(7 * 1024 * 1024, '1')));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body.size() == 7 * 1024 * 1024);
  CHECK(client.exchange(post("/echo", "{}"))->body == "{}");
}

TEST_CASE("Bytes behind a refused request are never taken for a request") {
  TestServer server;
  TestClient client(server.port());
  const std::string inner = post("/echo", "smuggled");
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: " +
              std::to_string(inner.size()) + "\r\n\r\n" + inner);
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 415);
  CHECK(client.closed_by_server());
  CHECK(server.handled == 0);
}

TEST_CASE("Requests that arrive in one piece are answered one after the other") {
  TestServer server;
  TestClient client(server.port());
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += post("/echo", std::to_string(i));
  client.send(bytes);
  for (int i = 0; i < 50; ++i) {
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->body == std::to_string(i));
  }
}

TEST_CASE("A request that arrives byte by byte is answered") {
  TestServer server;
  TestClient client(server.port());
  for (const char byte : post("/echo", "[1,2]")) REQUIRE(client.send(std::string_view(&byte, 1)));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->body == "[1,2]");
}

TEST_CASE("A client that asks before it sends the body is told to go on") {
  TestServer server;
  TestClient client(server.port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
      "Expect: 100-continue\r\n\r\n");
  const auto interim = client.receive();
  REQUIRE(interim);
  CHECK(interim->status == 100);
  const auto answer = client.exchange("true");
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "true");
}

TEST_CASE("A client that asks before it sends too much is refused at once") {
  TestServer server;
  TestClient client(server.port());
  const auto answer = client.exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n"
      "Expect: 100-continue\r\n\r\n");
  REQUIRE(answer);
  CHECK(answer->status == 413);
}

TEST_CASE("A client that asks for the end of the connection gets it") {
  TestServer server;
  TestClient client(server.port());
  const auto answer = client.exchange(post("/echo", "1", "Connection: close\r\n"));
  REQUIRE(answer);
  CHECK(answer->headers.at("connection") == "close");
  CHECK(client.closed_by_server());
}

TEST_CASE("The text of an exception reaches the events and not the client") {
  TestServer server;
  TestClient client(server.port());
  client.send(post("/throw", "{}"));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 500);
  CHECK(answer->body == "internal error\n");
  CHECK(answer->headers.count("exception_what") == 0);
  CHECK(server.events.wait_for(ServerEvent::kHandlerFailed, "secret of the house"));
  CHECK(client.exchange(post("/echo", "still here"))->body == "still here");
}

TEST_CASE("A bearer token reaches the handler as it was sent") {
  TestServer server;
  TestClient client(server.port());
  const auto answer =
      client.exchange(get("/hello", "Authorization: Bearer a+b/c.d-e_f==\r\nREMOTE_ADDR: 10.0.0.1\r\n"));
  REQUIRE(answer);
  CHECK(answer->body == "hello a+b/c.d-e_f==");
}

TEST_CASE("The same server speaks plain HTTP without a TLS context") {
  TestServer server(Wire::kPlain);
  TestClient client(server.port(), Wire::kPlain);
  CHECK(client.exchange(get("/hello"))->body == "hello ");
  CHECK(client.exchange(post("/echo", "1"))->body == "1");
}

TEST_CASE("A peer that speaks no TLS is reported and costs nothing else") {
  TestServer server;
  TestClient stranger(server.port(), Wire::kPlain);
  stranger.send(get("/hello"));
  CHECK(server.events.wait_for(ServerEvent::kHandshakeFailed, "http request"));
  CHECK(TestClient(server.port()).connected());
}

TEST_CASE("Without a certificate connections are closed and reported") {
  auto tls = TlsContext::create({});
  REQUIRE(tls.ok());
  TestServer server(Wire::kPlain, [&](HttpServerOptions& options) { options.tls = *tls; });
  CHECK_FALSE(TestClient(server.port()).connected());
  CHECK(server.events.wait_for(ServerEvent::kNoCertificate));
  const auto certificate = make_certificate("late");
  REQUIRE((*tls)->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
  CHECK(TestClient(server.port()).server_name() == "late");
}

TEST_CASE("A peer that is slow in any phase is given up at the deadline of that phase") {
  // Only the phase in question is short: on a busy machine the others can take their time.
  const auto server_with = [](Duration HttpTimeouts::*phase) {
    return std::make_unique<TestServer>(Wire::kTls,
                                        [phase](HttpServerOptions& options) { options.timeouts.*phase = 100ms; });
  };
  std::unique_ptr<TestServer> server;
  SUBCASE("handshake") {
    server = server_with(&HttpTimeouts::handshake);
    TestClient client(server->port(), Wire::kPlain);
    CHECK(client.closed_by_server());
    CHECK(server->events.wait_for(ServerEvent::kTimedOut, "handshake"));
  }
  SUBCASE("head") {
    server = server_with(&HttpTimeouts::request);
    TestClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nHost: ");
    CHECK(client.closed_by_server());
    CHECK(server->events.wait_for(ServerEvent::kTimedOut, "sending its request"));
  }
  SUBCASE("body") {
    server = server_with(&HttpTimeouts::request);
    TestClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n12");
    CHECK(client.closed_by_server());
    CHECK(server->events.wait_for(ServerEvent::kTimedOut, "sending its request"));
  }
  SUBCASE("taking the answer") {
    server = server_with(&HttpTimeouts::response);
    TestClient client(server->port());
    client.send(post("/echo", std::string(7 * 1024 * 1024, '1')));
    CHECK(server->events.wait_for(ServerEvent::kTimedOut, "taking the answer"));
  }
  CHECK(eventually([&] { return server->server->open_connections() == 0; }));
}

TEST_CASE("An idle connection is closed in good order after its time") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) {
    options.timeouts.idle = 100ms;
    options.timeouts.linger = 100ms;
  });
  TestClient client(server.port());
  CHECK(client.exchange(post("/echo", "1"))->status == 200);
  CHECK(client.closed_by_server());
  CHECK(eventually([&] { return server.server->open_connections() == 0; }));
}

TEST_CASE("Beyond the limit a new connection takes the place of the one that waits nearest to its deadline") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) { options.limits.max_connections = 3; });
  TestClient stuck(server.port(), Wire::kPlain);  // will never begin a handshake
  TestClient first(server.port());
  TestClient second(server.port());
  CHECK(first.exchange(post("/echo", "1"))->status == 200);
  CHECK(second.exchange(post("/echo", "2"))->status == 200);
  TestClient third(server.port());
  REQUIRE(third.connected());
  CHECK(third.exchange(post("/echo", "3"))->status == 200);
  CHECK(server.events.wait_for(ServerEvent::kConnectionEvicted));
  CHECK(stuck.closed_by_server());
  CHECK(first.exchange(post("/echo", "1"))->status == 200);
}

TEST_CASE("Beyond the limit a request that no worker has come to read is not given up") {
  TestServer server(Wire::kPlain, [](HttpServerOptions& options) {
    options.limits.max_connections = 3;
    options.workers = 1;
  });
  TestClient held(server.port(), Wire::kPlain), waiting(server.port(), Wire::kPlain), last(server.port(), Wire::kPlain);
  CHECK(waiting.exchange(post("/echo", "0"))->status == 200);
  CHECK(last.exchange(post("/echo", "0"))->status == 200);
  REQUIRE(held.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  server.await_held();
  // The only worker is busy: a new connection and then two requests wait for it.
  TestClient beyond(server.port(), Wire::kPlain);
  REQUIRE(beyond.send(post("/echo", "3")));
  REQUIRE(waiting.send(post("/echo", "1")));
  REQUIRE(last.send(post("/echo", "2")));
  server.release();
  CHECK(waiting.receive()->status == 200);
  CHECK(last.receive()->status == 200);
  CHECK(held.receive()->status == 200);
  // Those that have been answered can go now: none of them is in the middle of anything.
  CHECK(beyond.receive()->status == 200);
}

TEST_CASE("Half-sent bodies cannot use up more memory than their limit") {
  TestServer server(Wire::kTls, [](HttpServerOptions& options) { options.limits.max_buffered_bytes = 1024 * 1024; });
  const std::string start =
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 7000000\r\n\r\n";
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    clients.back()->send(start + std::string(400'000, 'x'));
  }
  CHECK(server.events.wait_for(ServerEvent::kRequestRefused, "503"));
  clients.erase(clients.begin() + 1, clients.end());
  CHECK(eventually([&] { return server.server->open_connections() == 1; }));
  TestClient client(server.port());
  CHECK(client.exchange(post("/echo", "1"))->status == 200);
}

TEST_CASE("A server says why it cannot start") {
  TestServer server;
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:" + std::to_string(server.port());
  const auto taken = HttpServer(options, {}).start();
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().message.find("Address already in use") != std::string::npos);
  options.bind_address = "9443";
  const auto wrong = HttpServer(options, {}).start();
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message.find("host:port") != std::string::npos);
}

}  // namespace http_server_test
