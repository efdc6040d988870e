#include "test/world/index_set.h"

#include "base/whole_number.h"

namespace muster::world {
namespace {

int64_t number(std::string_view text) {
  return whole_number<int64_t>(text).value_or(0);
}

}  // namespace

std::set<int64_t> parse_indexes(std::string_view text) {
  std::set<int64_t> indexes;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const int64_t first = number(part.substr(0, dash));
    const int64_t last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    for (int64_t index = first; index <= last; ++index) indexes.insert(index);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return indexes;
}

std::string format_indexes(const std::set<int64_t>& indexes) {
  std::string text;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const int64_t first = *it;
    int64_t last = first;
    while (++it != indexes.end() && *it == last + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    // Two in a row are written as a list, as upstream does.
    if (last == first + 1) text += ',' + std::to_string(last);
    if (last > first + 1) text += '-' + std::to_string(last);
  }
  return text;
}

}  // namespace muster::world
