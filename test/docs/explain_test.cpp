// docs/explain.md against the table of reasons, both ways.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/texts/explain_reasons.h"
#include "test/support/files.h"

namespace explain_test {

namespace {

namespace fs = std::filesystem;
using muster::ExplainReasonRow;

// A row of the page names all reasons that have the same first line.
std::vector<std::string> rows_of_table() {
  std::vector<std::string> rows;
  std::string names;
  for (const ExplainReasonRow& row : muster::explain_reason_rows()) {
    names += (names.empty() ? "`" : ", `") + std::string(row.token) + (row.open ? "...`" : "`");
    if (row.first_line.empty()) continue;
    rows.push_back("| " + names + " | " + std::string(row.first_line) + " |");
    names.clear();
  }
  CHECK(names.empty());
  return rows;
}

std::set<std::string> rows_of_page() {
  const std::string page = muster::test::read_file(fs::path(MUSTER_SOURCE_DIR) / "docs/explain.md");
  const size_t begin = page.find("\n## The reasons");
  REQUIRE(begin != std::string::npos);
  std::istringstream lines(page.substr(begin, page.find("\n## ", begin + 1) - begin));
  std::set<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `")) rows.insert(line);
  }
  return rows;
}

}  // namespace

TEST_CASE("explain: every reason is in docs/explain.md, and no other") {
  const std::vector<std::string> rows = rows_of_table();
  std::set<std::string> page = rows_of_page();
  CHECK(page.size() == rows.size());
  for (const std::string& row : rows) {
    if (page.erase(row) == 0) FAIL_CHECK("docs/explain.md lacks this row:\n" << row);
  }
  for (const std::string& row : page) FAIL_CHECK("docs/explain.md has a row of no reason:\n" << row);
}

TEST_CASE("explain: no two rows have the same token") {
  std::set<std::string_view> known;
  for (const ExplainReasonRow& row : muster::explain_reason_rows()) CHECK(known.insert(row.token).second);
  CHECK(known.size() > 40);
}

}  // namespace explain_test
