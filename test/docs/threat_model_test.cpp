// The threat model claims nothing that no test holds true: each row of its tables names tests
// that are in this tree, and outside of the tables stands what claims nothing.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace threat_model_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MUSTER_SOURCE_DIR;

void find_all(const std::string& text, const std::regex& pattern, std::set<std::string>& into) {
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) into.insert((*it)[1]);
}

// Test cases by their texts, Go tests by their functions. One that is skipped always holds nothing.
std::set<std::string> tests_in_the_tree() {
  static const std::regex doctest_case(R"rx(TEST_CASE\(\s*"([^"]*)"\s*[)*])rx");
  static const std::regex go_test(R"(\nfunc (Test\w+)\(t \*testing\.T\))");
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "test")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_test.cpp")) find_all(muster::test::read_file(entry.path()), doctest_case, tests);
    if (name.ends_with("_test.go")) find_all(muster::test::read_file(entry.path()), go_test, tests);
  }
  return tests;
}

struct Page {
  std::vector<std::vector<std::string>> rows;  // cells
  std::vector<std::string> loose;              // lines that could claim something, outside of tables
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) cells.push_back(cell);
  return cells;
}

// In these sections nothing is claimed that protects.
bool claims_nothing(const std::string& section) {
  return section == "Threat model" || section == "Assets" || section == "What is out of scope";
}

Page read_page(const std::string& text) {
  Page page;
  std::istringstream lines(text);
  std::string section;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) {
      section = line.substr(line.find(' ') + 1);
      in_table = false;
    } else if (line.starts_with("|")) {
      // A header, then a line of dashes, then the rows.
      if (in_table && !line.starts_with("|---")) page.rows.push_back(cells_of(line));
      in_table = true;
    } else if (!line.empty() && !claims_nothing(section)) {
      page.loose.push_back(line);
    }
  }
  return page;
}

std::vector<std::string> names_in(const std::string& cell) {
  static const std::regex quoted("`([^`]*)`");
  std::vector<std::string> names;
  for (std::sregex_iterator it(cell.begin(), cell.end(), quoted), end; it != end; ++it) names.push_back((*it)[1]);
  return names;
}

}  // namespace

TEST_CASE("threat model: every row names tests and each of them is in the tree") {
  const std::set<std::string> tests = tests_in_the_tree();
  const Page page = read_page(muster::test::read_file(kRoot / "docs/threat-model.md"));
  CHECK(page.rows.size() > 20);
  for (const auto& cells : page.rows) {
    INFO(cells.at(0), "|", cells.size() > 1 ? cells[1] : "");
    REQUIRE(cells.size() == 4);
    const std::vector<std::string> names = names_in(cells[3]);
    CHECK_FALSE(names.empty());
    for (const std::string& name : names) CHECK_MESSAGE(tests.contains(name), "there is no test ", name);
  }
}

TEST_CASE("threat model: outside of its tables it claims nothing") {
  for (const std::string& line : read_page(muster::test::read_file(kRoot / "docs/threat-model.md")).loose)
    FAIL_CHECK(line);
}

TEST_CASE("threat model: a row without a test and a claim outside of the tables are seen") {
  const Page page = read_page(
      "# Threat model\nIntroduction.\n## Ports\nmuster is safe.\n\n| A | B | C | D |\n|---|---|---|---|\n"
      "| a | b | c | `one`, `two` |\n| a | b | c | none |\n## Assets\n- keys\n");
  REQUIRE(page.rows.size() == 2);
  CHECK(names_in(page.rows[0][3]) == std::vector<std::string>{"one", "two"});
  CHECK(names_in(page.rows[1][3]).empty());
  CHECK(page.loose == std::vector<std::string>{"muster is safe."});
  CHECK(tests_in_the_tree().contains("threat model: outside of its tables it claims nothing"));
  CHECK(tests_in_the_tree().contains("TestMetricsAreForThoseWhoMayReadThem"));
}

}  // namespace threat_model_test
