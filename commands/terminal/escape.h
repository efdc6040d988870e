// Texts that other users write (names of objects, messages) in what people and programs read. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::commands {

// For a line of a terminal: what would steer it or break the line is shown as \xNN.
std::string on_one_line(std::string_view text);
// Text and attribute values of XML 1.0, which has no place for most control characters. Good for HTML too.
std::string escape_xml(std::string_view text);

}  // namespace muster::commands
