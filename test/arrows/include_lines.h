// The #include lines of a file, as text.
#pragma once

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "test/support/files.h"

namespace muster::test {

// `opens`: how the names are written: "\"" for those in quotes, "<" for those in brackets, both for all.
inline std::set<std::string> includes_of(const std::filesystem::path& file, const std::string& opens) {
  std::set<std::string> names;
  const std::regex line("^\\s*#include [" + opens + "]([^\">]+)[\">]");
  std::istringstream text(read_file(file));
  for (std::string row; std::getline(text, row);) {
    std::smatch match;
    if (std::regex_search(row, match, line)) names.insert(match[1]);
  }
  return names;
}

}  // namespace muster::test
