#include "api/codec/managed_fields.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace muster {
namespace {

constexpr std::string_view kMember = R"("managedFields":[)";

// The quote that ends the string which begins at `at`, or where the text ends.
size_t last_of_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at;
}

// Behind the array that begins at `at`, with its bracket; npos: it does not end.
size_t end_of_array(std::string_view json, size_t at) {
  for (size_t depth = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"')
      at = last_of_string(json, at);
    else if (c == '[')
      ++depth;
    else if (c == ']' && --depth == 0)
      return at + 1;
  }
  return std::string_view::npos;
}

// The start of a key that is not a part of another key.
size_t find_member(std::string_view json, size_t from) {
  static const std::boyer_moore_horspool_searcher search(kMember.begin(), kMember.end());
  for (auto rest = json.begin() + static_cast<std::ptrdiff_t>(from);;) {
    const auto found = std::search(rest, json.end(), search);
    if (found == json.end()) return std::string_view::npos;
    if (found != json.begin() && (found[-1] == '{' || found[-1] == ','))
      return static_cast<size_t>(found - json.begin());
    rest = found + 1;
  }
}

}  // namespace

std::string without_managed_fields(std::string_view json) {
  std::string kept;
  size_t from = 0;
  for (size_t member = find_member(json, 0); member != std::string_view::npos; member = find_member(json, from)) {
    size_t end = end_of_array(json, member + kMember.size() - 1);
    if (end == std::string_view::npos) break;
    // Includes one of its commas.
    if (end < json.size() && json[end] == ',')
      ++end;
    else if (json[member - 1] == ',' && member > from)
      --member;
    kept.append(json, from, member - from);
    from = end;
  }
  return kept.append(json, from);
}

}  // namespace muster
