// How much memory a JSON tree takes, counted while it is read.
//
// Text of three bytes ("{},") makes an object of a hundred, so the size of a body says little
// about its tree. What is counted here is never less than what the tree holds at any time while
// it is built (test/api/codec/tree_memory_test.cpp measures it).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace muster {

// Beside what strings of more than fifteen bytes hold (bytes_of_text).
inline constexpr size_t kItemBytes = 52;  // in an array, which doubles when it is full
inline constexpr size_t kMemberBytes = 80;
inline constexpr size_t kObjectBytes = 48;
inline constexpr size_t kArrayBytes = 24;
inline constexpr size_t kStringBytes = 32;

// The most that any text makes of each of its bytes: "[[[[{}]]]]".
inline constexpr size_t kTreeBytesPerByte = 38;

// The buffer of a string that was read; short ones have none.
constexpr size_t bytes_of_text(size_t length) {
  return length <= 15 ? 0 : 2 * length + 16;
}

// parse_json, but refuses a document whose tree would need more than this number of bytes.
Result<nlohmann::json> parse_json_within(std::string_view bytes, size_t tree_bytes);
Result<nlohmann::json> parse_without_managed_fields_within(std::string_view bytes, size_t tree_bytes);

}  // namespace muster
