#include "base/shell_word.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>

namespace muster::test::shell_word_test {

TEST_CASE("shell words: plain names stay, others are quoted, and some are refused") {
  CHECK(shell_word("job-train.x") == "job-train.x");
  CHECK(shell_word("kueue.x-k8s.io/queue-name=lq") == "kueue.x-k8s.io/queue-name=lq");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("=ls") == "'=ls'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK_FALSE(shell_word(""));
  CHECK_FALSE(shell_word("a\nb"));
  CHECK_FALSE(shell_word("\x1b[2J"));
  CHECK_FALSE(shell_word("\xe2\x80\xae"));
}

TEST_CASE("shell words: a shell reads them back and runs nothing else") {
  for (const std::string text : {"$(touch x)", "`id`", "a;id", "a|id", "a&&id", "'; id; '", "\"; id; \"", "$HOME", "~",
                                 "*", "a\\", "!!", "{\"a\":\"it's\"}", "#", "a>b"}) {
    CAPTURE(text);
    const std::string command = "printf %s " + shell_word(text).value_or("refused");
    FILE* shell = popen(command.c_str(), "r");
    REQUIRE(shell != nullptr);
    std::array<char, 256> read{};
    const size_t size = fread(read.data(), 1, read.size(), shell);
    CHECK(pclose(shell) == 0);
    CHECK(std::string(read.data(), size) == text);
  }
}

}  // namespace muster::test::shell_word_test
