// The part of a URL behind the '?', as names and values. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::server {

// %41 becomes A; nullopt: a % without two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

using QueryValues = std::map<std::string, std::string, std::less<>>;

// Percent-encoding is undone; '+' is no space, as in Kubernetes' clients' own queries. An error for a name that is
// not `known`, one that comes twice, and text that is not well encoded: nothing is passed over.
Result<QueryValues> parse_query(std::string_view query, const std::set<std::string_view>& known);

// Whether what is not known is refused, or passed over as every API of an API server does: its clients send parameters
// that belong to all of them (timeout, pretty), and so must an aggregated API.
enum class UnknownParameters { kRefused, kPassedOver };
Result<QueryValues> parse_query(std::string_view query, const std::set<std::string_view>& known,
                                UnknownParameters unknown);

// The value, or empty.
std::string value_of(const QueryValues& values, std::string_view name);
// A whole number, 0 or more; `absent` where there is none. An error names the parameter.
Result<int64_t> number_of(const QueryValues& values, std::string_view name, int64_t absent);

}  // namespace muster::server
