// Tables of the terminal, as kubectl prints them.
#pragma once

#include <string>
#include <vector>

namespace muster::commands {

using TableRow = std::vector<std::string>;

// Columns as wide as their widest cell, in bytes, and two spaces between them. No spaces at the end
// of a line. Each line begins with `indent`.
std::string text_table(const std::vector<TableRow>& rows, const std::string& indent = "");

}  // namespace muster::commands
