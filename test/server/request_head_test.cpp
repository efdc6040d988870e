#include "server/transport/request_head.h"

#include <doctest/doctest.h>

namespace request_head_test {

using namespace muster;
using namespace muster::server;

namespace {

const Routes kRoutes = {{HttpMethod::kPost, "/mutate", nullptr}, {HttpMethod::kGet, "/metrics", nullptr}};

// A POST whose headers are those that a test is not about.
std::string post_head(std::string headers) {
  return "POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + headers + "\r\n";
}

struct Row {
  std::string name;
  std::string head;
  int status;  // 0: accepted
};

void check(const Row& row) {
  INFO(row.name);
  const auto head = parse_head(row.head, kRoutes, HttpLimits{});
  CHECK((head.ok() ? 0 : head.error().status) == row.status);
  if (!head.ok()) CHECK_FALSE(head.error().message.empty());
}

}  // namespace

TEST_CASE("A request line is accepted only in its one form") {
  const std::string rest = "\r\nHost: a\r\n\r\n";
  const Row rows[] = {
      {"a plain GET is accepted", "GET /metrics HTTP/1.1" + rest, 0},
      {"a query is accepted", "GET /metrics?a=b HTTP/1.1" + rest, 0},
      {"an unknown path is not found", "GET /other HTTP/1.1" + rest, 404},
      {"a path below a route is not found", "GET /metrics/x HTTP/1.1" + rest, 404},
      {"an encoded path is another path", "GET /metric%73 HTTP/1.1" + rest, 404},
      {"a way upwards is another path", "GET /x/../metrics HTTP/1.1" + rest, 404},
      {"POST to a GET route is not allowed", "POST /metrics HTTP/1.1" + rest, 405},
      {"HEAD is not GET", "HEAD /metrics HTTP/1.1" + rest, 405},
      {"methods are told apart by case", "get /metrics HTTP/1.1" + rest, 405},
      {"HTTP/1.0 is not spoken", "GET /metrics HTTP/1.0" + rest, 505},
      {"HTTP/2.0 is not spoken", "GET /metrics HTTP/2.0" + rest, 505},
      {"a version of another form is no version", "GET /metrics HTTP/1.10" + rest, 400},
      {"a missing version is bad", "GET /metrics" + rest, 400},
      {"two spaces are bad", "GET  /metrics HTTP/1.1" + rest, 400},
      {"an absolute target is bad", "GET http://a/metrics HTTP/1.1" + rest, 400},
      {"a control character in the target is bad", "GET /met\trics HTTP/1.1" + rest, 400},
      {"a byte above ASCII in the target is bad", "GET /metrics\xc3\xa9 HTTP/1.1" + rest, 400},
      {"a method with a bracket is bad", "GE(T /metrics HTTP/1.1" + rest, 400},
      {"an empty line in front is bad", "\r\nGET /metrics HTTP/1.1" + rest, 400},
      {"a very long target is too long", "GET /" + std::string(9000, 'a') + " HTTP/1.1" + rest, 414},
  };
  for (const auto& row : rows) check(row);
}

TEST_CASE("Header lines are accepted only in their one form") {
  const std::string start = "GET /metrics HTTP/1.1\r\nHost: a\r\n";
  const Row rows[] = {
      {"unknown headers are ignored", start + "X-Whatever: 1\r\nREMOTE_ADDR: 127.0.0.1\r\n\r\n", 0},
      {"an unknown header may be repeated", start + "X-A: 1\r\nX-A: 2\r\n\r\n", 0},
      {"a missing Host is bad", "GET /metrics HTTP/1.1\r\n\r\n", 400},
      {"two Hosts are bad", start + "Host: b\r\n\r\n", 400},
      {"a line without a colon is bad", start + "nonsense\r\n\r\n", 400},
      {"a space before the colon is bad", start + "X-A : 1\r\n\r\n", 400},
      {"an empty name is bad", start + ": 1\r\n\r\n", 400},
      {"a folded line is bad", start + "X-A: 1\r\n 2\r\n\r\n", 400},
      {"a bare line feed is bad", start + "X-A: 1\nX-B: 2\r\n\r\n", 400},
      {"a bare carriage return is bad", start + "X-A: 1\rX-B: 2\r\n\r\n", 400},
      {"a NUL is bad", start + std::string("X-A: \0\r\n\r\n", 10), 400},
      {"a very long line is too large", start + "X-A: " + std::string(9000, 'a') + "\r\n\r\n", 431},
      {"a token of odd characters is bad", start + "Authorization: Bearer a%0d%0ab\r\n\r\n", 400},
      {"another scheme of authorization is ignored", start + "Authorization: Basic YTpi\r\n\r\n", 0},
      {"an unknown expectation fails", start + "Expect: miracles\r\n\r\n", 417},
  };
  for (const auto& row : rows) check(row);
}

TEST_CASE("A body is accepted only with a plain length and as plain JSON") {
  const std::string length = "Content-Length: 5\r\n";
  const Row rows[] = {
      {"a length is accepted", post_head(length), 0},
      {"an empty body is accepted", post_head("Content-Length: 0\r\n"), 0},
      {"the largest body is accepted", post_head("Content-Length: 7340032\r\n"), 0},
      {"one byte more is too large", post_head("Content-Length: 7340033\r\n"), 413},
      {"a huge length is too large", post_head("Content-Length: 99999999999999999999999999\r\n"), 413},
      {"a missing length is required", post_head(""), 411},
      {"a negative length is bad", post_head("Content-Length: -2\r\n"), 400},
      {"a signed length is bad", post_head("Content-Length: +5\r\n"), 400},
      {"a hexadecimal length is bad", post_head("Content-Length: 0x5\r\n"), 400},
      {"an empty length is bad", post_head("Content-Length:\r\n"), 400},
      {"a list of lengths is bad", post_head("Content-Length: 5, 5\r\n"), 400},
      {"two equal lengths are bad", post_head(length + length), 400},
      {"two different lengths are bad", post_head(length + "content-length: 6\r\n"), 400},
      {"a chunked body needs a length", post_head("Transfer-Encoding: chunked\r\n"), 411},
      {"a gzip transfer coding is not implemented", post_head("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"both framings at once are bad", post_head(length + "Transfer-Encoding: chunked\r\n"), 400},
      {"a hidden second framing is bad", post_head(length + "Transfer-Encoding: xchunked\r\n"), 400},
      {"a gzip body is unsupported", post_head(length + "Content-Encoding: gzip\r\n"), 415},
      {"a brotli body is unsupported", post_head(length + "Content-Encoding: br\r\n"), 415},
      {"an identity coding is accepted", post_head(length + "Content-Encoding: identity\r\n"), 0},
      {"a GET with a body is bad", "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 400},
      {"a GET with a length of none is accepted", "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 0},
  };
  for (const auto& row : rows) check(row);
}

TEST_CASE("Only the content type application/json is accepted") {
  const auto with_type = [](std::string type) {
    return "POST /mutate HTTP/1.1\r\nHost: a\r\n" + type + "Content-Length: 2\r\n\r\n";
  };
  const Row rows[] = {
      {"JSON is accepted", with_type("Content-Type: application/json\r\n"), 0},
      {"JSON with a charset is accepted", with_type("Content-Type: Application/JSON; charset=utf-8\r\n"), 0},
      {"no type is unsupported", with_type(""), 415},
      {"text is unsupported", with_type("Content-Type: text/plain\r\n"), 415},
      {"multipart is unsupported", with_type("Content-Type: multipart/form-data; boundary=x\r\n"), 415},
      {"a form is unsupported", with_type("Content-Type: application/x-www-form-urlencoded\r\n"), 415},
      {"a type that only begins like JSON is unsupported", with_type("Content-Type: application/jsonp\r\n"), 415},
  };
  for (const auto& row : rows) check(row);
}

TEST_CASE("A parsed head holds what the server acts on") {
  const auto head = parse_head(
      "POST /mutate?timeout=5s HTTP/1.1\r\nhOST: a\r\nCONTENT-TYPE: application/json\r\nContent-Length: 12\r\n"
      "Expect: 100-Continue\r\nConnection: Upgrade, Close\r\nAuthorization: bearer ab.c-d_e=\r\n\r\n",
      kRoutes, HttpLimits{});
  REQUIRE(head.ok());
  CHECK(head->route == &kRoutes[0]);
  CHECK(head->target == "/mutate?timeout=5s");
  CHECK(head->content_length == 12);
  CHECK(head->expects_continue);
  CHECK(head->wants_close);
  CHECK(head->bearer_token == "ab.c-d_e=");
}

TEST_CASE("The end of a head is found however its bytes arrive") {
  const std::string bytes = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\nrest";
  size_t searched = 0;
  std::optional<size_t> found;
  for (size_t size = 1; size <= bytes.size() && !found; ++size) {
    const auto end = find_head_end(std::string_view(bytes).substr(0, size), searched, HttpLimits{});
    REQUIRE(end.ok());
    found = *end;
  }
  CHECK(found == bytes.size() - 4);
}

TEST_CASE("A head without an end is refused at the limit") {
  const HttpLimits limits;
  size_t searched = 0;
  const auto too_long = find_head_end(std::string(limits.max_head_bytes + 1, 'a'), searched, limits);
  REQUIRE_FALSE(too_long.ok());
  CHECK(too_long.error().status == 414);
  searched = 0;
  const auto too_many = find_head_end("GET / HTTP/1.1\r\n" + std::string(limits.max_head_bytes, 'a'), searched, limits);
  REQUIRE_FALSE(too_many.ok());
  CHECK(too_many.error().status == 431);
}

TEST_CASE("A refusal tells the client that the connection ends and which method would do") {
  const auto wire = to_wire({405, "this path takes GET only", "GET"});
  CHECK(wire ==
        "HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Allow: GET\r\nContent-Length: 25\r\n\r\nthis path takes GET only\n");
}

}  // namespace request_head_test
