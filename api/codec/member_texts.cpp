#include "api/codec/member_texts.h"

#include <algorithm>

namespace muster {
namespace {

// Where the string ends that begins at `at`.
size_t end_of_string(std::string_view text, size_t at) {
  for (size_t quote = text.find('"', at + 1); quote != std::string_view::npos; quote = text.find('"', quote + 1)) {
    size_t first = quote;
    while (text[first - 1] == '\\') --first;
    if ((quote - first) % 2 == 0) return quote + 1;
  }
  return text.size();
}

// Where the value ends that begins at `at`.
size_t end_of_value(std::string_view text, size_t at) {
  for (int depth = 0; at < text.size();) {
    const char next = text[at];
    if (depth == 0 && (next == ',' || next == '}')) return at;
    if (next == '{' || next == '[') ++depth;
    if (next == '}' || next == ']') --depth;
    at = next == '"' ? end_of_string(text, at) : at + 1;
  }
  return text.size();
}

}  // namespace

void for_each_member(std::string_view object, const VisitMember& visit) {
  for (size_t at = 1; at < object.size() && object[at] == '"';) {
    const size_t colon = std::min(end_of_string(object, at), object.size() - 1);
    const size_t end = end_of_value(object, colon + 1);
    if (colon < at + 2) return;
    visit(object.substr(at + 1, colon - at - 2), object.substr(colon + 1, end - colon - 1));
    at = end + 1;
  }
}

}  // namespace muster
