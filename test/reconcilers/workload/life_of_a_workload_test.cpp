// docs/life-of-a-workload.md is true to the code, as far as words can be compared.
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <sstream>

#include "test/support/vectors.h"

namespace life_of_a_workload_test {

using namespace muster;

namespace {

const char* const kPage = "docs/life-of-a-workload.md";

// The cells of every row that ends with a source file.
std::vector<std::vector<std::string>> rows() {
  std::vector<std::vector<std::string>> found;
  std::istringstream page(test::read_source_file(kPage));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ") || line.find(".cpp` |") == std::string::npos) continue;
    std::vector<std::string> cells;
    std::istringstream text(line.substr(2));
    for (std::string cell; std::getline(text, cell, '|');) cells.push_back(cell);
    found.push_back(std::move(cells));
  }
  return found;
}

// Of "QuotaReserved=False/Suspended" the words on both sides.
std::set<std::string> words_of(const std::string& cell) {
  static const std::regex condition("([A-Z][A-Za-z]+)=(?:True|False)/([A-Z][A-Za-z]+)?");
  std::set<std::string> words;
  for (auto it = std::sregex_iterator(cell.begin(), cell.end(), condition); it != std::sregex_iterator(); ++it) {
    words.insert((*it)[1]);
    if ((*it)[2].matched) words.insert((*it)[2]);
  }
  return words;
}

std::string words_in_code() {
  return test::read_source_file("api/workload_conditions.h") + test::read_source_file("api/texts/workload_texts.h") +
         test::read_source_file("scheduler/outcome.cpp") +
         test::read_source_file("scheduler/preemption/preemption.cpp");
}

}  // namespace

TEST_CASE("the life of a Workload names conditions and reasons and files that are there") {
  const std::string code = words_in_code();
  CHECK(rows().size() > 30);
  for (const std::vector<std::string>& cells : rows()) {
    REQUIRE(cells.size() >= 5);
    INFO(cells[1]);
    const std::string& where = cells[4];
    const std::string path = where.substr(2, where.rfind('`') - 2);
    CHECK_MESSAGE(test::read_source_file(path).size() > 0, path);
    for (const std::string& word : words_of(cells[3]))
      CHECK_MESSAGE(code.find('"' + word + '"') != std::string::npos, word);
  }
}

TEST_CASE("the life of a Workload leaves out no reason that muster writes") {
  std::string page = test::read_source_file(kPage);
  const std::string code = test::read_source_file("api/workload_conditions.h");
  const std::string workloads = code.substr(0, code.find("// --- States of an admission check"));
  static const std::regex constant("k[A-Za-z]+Reason = \"([A-Za-z]+)\"");
  int count = 0;
  for (auto it = std::sregex_iterator(workloads.begin(), workloads.end(), constant); it != std::sregex_iterator();
       ++it) {
    ++count;
    CHECK_MESSAGE(page.find((*it)[1].str()) != std::string::npos, (*it)[1].str());
  }
  CHECK(count > 30);
}

}  // namespace life_of_a_workload_test
