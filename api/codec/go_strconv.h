// Numbers, booleans and quoted text as Go's strconv reads and words them: rules
// quote these errors to users exactly as Kubernetes' Go programs do.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// Decimal with an optional sign. Errors: `strconv.Atoi: parsing "abc": invalid
// syntax`, or `… value out of range` beyond 64 bits.
Result<int64_t> go_atoi(std::string_view text);

// As strconv.ParseInt with base 10 and 32 or 64 bits.
Result<int64_t> go_parse_int(std::string_view text, int bits = 64);

// As strconv.ParseUint with base 10 and 64 bits.
Result<uint64_t> go_parse_uint(std::string_view text);

// 1, t, T, true, TRUE, True and their opposites; nothing else.
Result<bool> go_parse_bool(std::string_view text);

// Text in double quotes as %q prints it: control and invisible characters as \n, \x01
// or \u00a0, bytes that are no UTF-8 as \xff. Code points that Unicode has not
// assigned are not escaped.
std::string go_quote(std::string_view text);

// As Go's time package quotes: every byte outside of ASCII as \xc2.
std::string go_quote_ascii(std::string_view text);

// Why a JSON value is no string, as Go's decoder words it: "json: cannot unmarshal
// number into Go value of type string".
std::string go_not_a_string(const nlohmann::json& value);

}  // namespace muster
