// The map of docs/contributing.md against the tree: it names every folder with sources, once, and no other.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace contributing_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MUSTER_SOURCE_DIR;

// "jobs/{pod,serving}/" is two.
std::vector<std::string> expanded(const std::string& name) {
  static const std::regex kBraces(R"((.*)\{(.*)\}(.*))");
  std::smatch parts;
  if (!std::regex_match(name, parts, kBraces)) return {name};
  std::vector<std::string> names;
  std::istringstream list(parts[2].str());
  for (std::string one; std::getline(list, one, ',');) names.push_back(parts[1].str() + one + parts[3].str());
  return names;
}

std::vector<std::string> rooms_of_the_map(const std::string& page) {
  std::vector<std::string> rooms;
  const size_t begin = page.find("\n| Room |");
  std::istringstream lines(page.substr(begin, page.find("\n\n", begin) - begin));
  static const std::regex kName("`([^`]+/)`");
  for (std::string line; std::getline(lines, line);) {
    const std::string first = line.substr(0, line.find('|', 1));
    for (std::sregex_iterator it(first.begin(), first.end(), kName), end; it != end; ++it) {
      for (std::string& room : expanded((*it)[1])) rooms.push_back(std::move(room));
    }
  }
  return rooms;
}

bool is_source(const fs::path& path) {
  return path.extension() == ".cpp" || path.extension() == ".h";
}

}  // namespace

TEST_CASE("contributing: the page is read in one go") {
  std::istringstream page(muster::test::read_file(kRoot / "docs/contributing.md"));
  size_t words = 0;
  for (std::string word; page >> word;) ++words;
  CHECK(words < 1200);
}

TEST_CASE("contributing: the map names every folder with sources, once") {
  const std::string page = muster::test::read_file(kRoot / "docs/contributing.md");
  std::set<std::string> rooms;
  for (const std::string& room : rooms_of_the_map(page)) {
    INFO(room);
    CHECK(rooms.insert(room).second);
    CHECK(fs::is_directory(kRoot / room));
  }
  size_t folders = 0;
  // Only what has a room in CMakeLists.txt, or is inside one: a tree has build folders too.
  const std::string cmake = muster::test::read_file(kRoot / "CMakeLists.txt");
  for (const auto& top : fs::directory_iterator(kRoot)) {
    const std::string name = top.path().filename().string();
    if (!top.is_directory() || !std::regex_search(cmake, std::regex("\nmuster_\\w+\\(" + name + "[ /]"))) continue;
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (is_source(entry.path()))
        found.insert(entry.path().parent_path().lexically_relative(kRoot).generic_string() + "/");
    }
    for (const std::string& folder : found) CHECK_MESSAGE(rooms.contains(folder), "the map lacks " << folder);
    folders += found.size();
  }
  CHECK(folders > 60);
}

}  // namespace contributing_test
