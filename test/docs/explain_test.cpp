// docs/explain.md against the sources: every reason that explain gives has a row, and every row is of a reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace explain_test {

namespace {

namespace fs = std::filesystem;
using muster::test::read_file;
const fs::path kRoot = MUSTER_SOURCE_DIR;
using Words = std::set<std::string>;

void collect(const std::string& text, const char* pattern, const std::function<void(const std::smatch&)>& take) {
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) take(*it);
}

// The first argument of a call, whose parenthesis has been opened before `begin`.
std::string first_argument(const std::string& source, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (depth < 0 || (depth == 0 && c == ',')) return source.substr(begin, i - begin);
  }
  return "";
}

Words reasons_in_code() {
  std::map<std::string, std::string> constants;
  collect(read_file(kRoot / "api/workload_conditions.h"), R"re((k\w+Reason) = "(\w+)")re",
          [&](const std::smatch& match) { constants[match[1]] = match[2]; });
  std::vector<fs::path> sources = {kRoot / "commands/explain/explain_local.cpp"};
  for (const auto& entry : fs::directory_iterator(kRoot / "explain")) {
    if (entry.path().extension() == ".cpp") sources.push_back(entry.path());
  }
  Words reasons;
  for (const fs::path& path : sources) {
    const std::string source = read_file(path);
    for (size_t at = source.find(".say("); at != std::string::npos; at = source.find(".say(", at + 1)) {
      const std::string argument = first_argument(source, at + 5);
      collect(argument, R"re("(\w+)")re", [&](const std::smatch& match) { reasons.insert(match[1]); });
      collect(argument, R"re(k\w+Reason)re", [&](const std::smatch& match) { reasons.insert(constants.at(match[0])); });
    }
  }
  return reasons;
}

Words reasons_in_page() {
  const std::string page = read_file(kRoot / "docs/explain.md");
  const size_t begin = page.find("\n## The reasons");
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  Words reasons;
  collect(section, R"re(\n\| ([^|]+) \|)re", [&](const std::smatch& row) {
    collect(row[1].str(), R"re(`(\w+)`)re", [&](const std::smatch& match) { reasons.insert(match[1]); });
  });
  return reasons;
}

}  // namespace

TEST_CASE("explain: every reason is in docs/explain.md, and no other") {
  const Words code = reasons_in_code(), page = reasons_in_page();
  Words missing, left;
  std::set_difference(code.begin(), code.end(), page.begin(), page.end(), std::inserter(missing, missing.end()));
  std::set_difference(page.begin(), page.end(), code.begin(), code.end(), std::inserter(left, left.end()));
  for (const std::string& reason : missing) FAIL_CHECK("docs/explain.md has no row for " << reason);
  for (const std::string& reason : left) FAIL_CHECK("explain never gives the reason " << reason);
  CHECK(code.size() > 40);
}

}  // namespace explain_test
