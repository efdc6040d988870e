#include "base/secret_text.h"

#include <doctest/doctest.h>

#include "test/support/memory_search.h"

namespace secret_text_test {

using namespace muster;
using muster::test::copies_in_memory;
using muster::test::Masked;

namespace {

// Made at run time, and never in one piece elsewhere. Each test has its own letters: all tests share the memory of
// the process, and a freed secret of one must not look like a part of another's.
Masked some_secret(char first_letter) {
  constexpr int kLetters = 13;
  std::string text(200, '\0');
  for (int i = 0; i < 200; ++i)
    text[static_cast<size_t>(i)] = static_cast<char>(first_letter + (i * 7 + i / kLetters) % kLetters);
  Masked masked(text);
  cleanse(text);
  return masked;
}

}  // namespace

TEST_CASE("secret text: the search finds an ordinary string") {
  const Masked secret = some_secret('A');
  CHECK(copies_in_memory(secret) == 0);
  const std::string kept = secret.text();
  CHECK(copies_in_memory(secret) == 1);
}

TEST_CASE("secret text: nothing is left after copies, moves, growth, assignment and the end") {
  const Masked secret = some_secret('N');
  {
    SecretText text(secret.text());
    CHECK(copies_in_memory(secret) == 1);
    const SecretText copy = text;
    CHECK(copies_in_memory(secret) == 2);
    SecretText moved = std::move(text);
    CHECK(copies_in_memory(secret) == 2);
    for (int i = 0; i < 1000; ++i) moved.append("and more than there is room for");
    CHECK(copies_in_memory(secret) == 2);
    moved = "another";
    CHECK(copies_in_memory(secret) == 1);
    moved = copy;
    CHECK(copies_in_memory(secret) == 2);
    moved.clear();
    CHECK(copies_in_memory(secret) == 1);
  }
  CHECK(copies_in_memory(secret) == 0);
}

TEST_CASE("secret text: a string that is moved in is overwritten, short ones too") {
  std::string text = "0123456789";
  const char* const where = text.data();
  const SecretText secret(std::move(text));
  CHECK(secret == "0123456789");
  CHECK(std::string_view(where, 10) == std::string(10, '\0'));
}

TEST_CASE("secret text: it compares and reads as a text") {
  const SecretText key = std::string("key");
  CHECK(key == SecretText("key"));
  CHECK_FALSE(key == SecretText("kez"));
  CHECK(key.view().substr(1) == "ey");
  CHECK(SecretText().empty());
  CHECK(SecretText() == "");
  CHECK(key.size() == 3);
}

}  // namespace secret_text_test
