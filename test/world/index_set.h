// Completed indexes as batch/v1 writes them: "1,3-5,7".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace muster::world {

std::set<int64_t> parse_indexes(std::string_view text);
std::string format_indexes(const std::set<int64_t>& indexes);

}  // namespace muster::world
