// How many sources are compiled again when a header changes: the costly headers have a budget, which grows
// only by the new sources of a feature.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/arrows/include_lines.h"
#include "test/support/files.h"

namespace header_budgets_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = muster::test::source_tree();

// file -> what it includes, in quotes or brackets
using Includes = std::map<std::string, std::set<std::string>>;

Includes includes_of_all() {
  Includes includes;
  for (auto entry = fs::recursive_directory_iterator(kRoot); entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path path = fs::relative(entry->path(), kRoot);
    const std::string top = path.begin()->string();
    if (top.starts_with("build") || top.starts_with(".")) {
      if (entry->is_directory()) entry.disable_recursion_pending();
      continue;
    }
    if (path.extension() != ".h" && path.extension() != ".cpp") continue;
    includes[path.string()] = muster::test::includes_of(entry->path(), "\"<");
  }
  return includes;
}

// header -> the number of sources that include it, also through other headers
std::map<std::string, int> sources_by_header(const Includes& includes, bool tests) {
  std::map<std::string, int> sources;
  for (const auto& file : includes) {
    if (!file.first.ends_with(".cpp") || file.first.starts_with("test/") != tests) continue;
    std::set<std::string> seen;
    std::vector<std::string> open = {file.first};
    while (!open.empty()) {
      const auto found = includes.find(open.back());
      open.pop_back();
      if (found == includes.end()) continue;
      for (const std::string& name : found->second) {
        if (seen.insert(name).second) open.push_back(name);
      }
    }
    for (const std::string& name : seen) ++sources[name];
  }
  return sources;
}

struct Budget {
  const char* header;
  int product, tests;
};

}  // namespace

TEST_CASE("header budgets: a change of a header compiles no more sources again than it may") {
  static constexpr Budget kBudgets[] = {
      {"api/workload.h", 175, 135},
      {"kinds/predicate.h", 76, 72},
      {"kinds/kind_description.h", 75, 71},
      {"scheduler/state.h", 73, 45},
      {"api/job.h", 71, 95},
      {"api/jobset.h", 68, 42},
      {"api/cluster_queue.h", 147, 134},
      {"scheduler/decision.h", 34, 35},
      {"nlohmann/json.hpp", 533, 420},
  };
  const Includes includes = includes_of_all();
  auto product = sources_by_header(includes, false), tests = sources_by_header(includes, true);
  for (const Budget& budget : kBudgets) {
    // As text: of a pointer doctest shows the address.
    INFO(std::string(budget.header) << ": " << product[budget.header] << " sources of the product, "
                                    << tests[budget.header] << " of tests");
    CHECK(product[budget.header] <= budget.product);
    CHECK(tests[budget.header] <= budget.tests);
    // A budget far above the number guards nothing: lower it.
    CHECK(product[budget.header] > 0);
    CHECK(product[budget.header] + 25 > budget.product);
    CHECK(tests[budget.header] + 25 > budget.tests);
  }
}

TEST_CASE("header budgets: a header is counted once for each source, through whatever it comes in") {
  const Includes includes = {{"a/a.cpp", {"a/a.h", "b/b.h"}},
                             {"b/b.cpp", {"b/b.h"}},
                             {"a/a.h", {"b/b.h", "c.h"}},
                             {"b/b.h", {"a/a.h"}},
                             {"test/t.cpp", {"c.h"}}};
  auto product = sources_by_header(includes, false);
  CHECK(product["b/b.h"] == 2);
  CHECK(product["c.h"] == 2);
  CHECK(sources_by_header(includes, true)["c.h"] == 1);
}

}  // namespace header_budgets_test
