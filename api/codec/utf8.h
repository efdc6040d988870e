// UTF-8, one character at a time. No over-long forms, no surrogates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

struct Utf8Character {
  bool valid;
  char32_t code_point;  // 0 when not valid
  size_t length;        // bytes to move on by; 1 when not valid
};

// The character at the start of `text`, which must not be empty.
Utf8Character read_utf8(std::string_view text);

// The index of the first byte that is not part of a valid character; npos when there is none.
size_t find_invalid_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

}  // namespace muster
