#include "base/encoding.h"

#include <doctest/doctest.h>

namespace encoding_test {

using namespace muster;

TEST_CASE("encoding: base64 of RFC 4648's examples and back") {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
  for (auto [bytes, text] : rows) {
    CHECK(base64_encode(bytes) == text);
    auto decoded = base64_decode(text);
    REQUIRE(decoded.ok());
    CHECK(*decoded == bytes);
  }
}

TEST_CASE("encoding: what is not base64 is refused") {
  for (const char* text : {"Zg", "Zg=", "Z g=", "Zm9v\n", "=Zg=", "Zm9v===="}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text).ok());
  }
}

TEST_CASE("encoding: digests of the empty text are the known ones") {
  CHECK(sha1_hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace encoding_test
