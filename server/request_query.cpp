#include "server/request_query.h"

#include <charconv>
#include <optional>
#include <system_error>
#include <vector>

#include "base/did_you_mean.h"
#include "base/whole_number.h"

namespace muster::server {
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 3 > text.size()) return std::nullopt;
    unsigned byte = 0;
    const char* const end = text.data() + i + 3;
    if (std::from_chars(text.data() + i + 1, end, byte, 16).ptr != end) return std::nullopt;
    plain += static_cast<char>(byte);
    i += 2;
  }
  return plain;
}

Result<QueryValues> parse_query(std::string_view query, const std::set<std::string_view>& known) {
  return parse_query(query, known, UnknownParameters::kRefused);
}

Result<QueryValues> parse_query(std::string_view query, const std::set<std::string_view>& known,
                                UnknownParameters unknown) {
  QueryValues values;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view item = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
    const size_t equals = item.find('=');
    const auto name = percent_decoded(item.substr(0, equals));
    const auto value = percent_decoded(equals == std::string_view::npos ? "" : item.substr(equals + 1));
    if (!name || !value) return fail("the query is not percent-encoded well: " + std::string(item.substr(0, 100)));
    if (!known.contains(*name)) {
      if (unknown == UnknownParameters::kPassedOver) continue;
      const std::vector<std::string> names(known.begin(), known.end());
      return fail("there is no parameter \"" + name->substr(0, 100) + "\" here" + did_you_mean(*name, names));
    }
    if (!values.emplace(*name, *value).second) return fail("the parameter \"" + *name + "\" is given twice");
  }
  return values;
}

std::string value_of(const QueryValues& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

Result<int64_t> number_of(const QueryValues& values, std::string_view name, int64_t absent) {
  const auto found = values.find(name);
  if (found == values.end()) return absent;
  const auto number = whole_number<int64_t>(found->second);
  if (!number || *number < 0) return fail(std::string(name) + " is a whole number, 0 or more");
  return *number;
}

}  // namespace muster::server
