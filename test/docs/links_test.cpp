// Links between pages lead somewhere, pages name tests that exist, and every page can be found from README.md.
#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace links_test {

namespace {

namespace fs = std::filesystem;
using muster::test::read_file;

const fs::path kRoot = MUSTER_SOURCE_DIR;

std::vector<std::string> found(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> all;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) all.push_back((*it)[1]);
  return all;
}

// README.md, CHANGELOG.md and everything below docs/.
std::vector<fs::path> pages() {
  std::vector<fs::path> all = {kRoot / "README.md", kRoot / "CHANGELOG.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

// The text without what is in boxes, where # begins a comment and brackets are no links.
std::string prose(const fs::path& page) {
  std::istringstream lines(read_file(page));
  std::string text;
  bool boxed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) boxed = !boxed;
    if (!boxed && !line.starts_with("    ")) text += line + "\n";
  }
  return text;
}

// As GitHub makes them of headings.
std::set<std::string> anchors(const fs::path& page) {
  std::set<std::string> all;
  for (const std::string& heading : found("\n" + prose(page), std::regex("\n#+ ([^\n]*)"))) {
    std::string anchor;
    for (const char letter : heading) {
      const auto code = static_cast<unsigned char>(letter);
      if (std::isalnum(code) || letter == '-' || letter == '_' || code >= 0x80)
        anchor += static_cast<char>(std::tolower(code));
      if (letter == ' ') anchor += '-';
    }
    all.insert(anchor);
  }
  return all;
}

// Targets of links and images that are not addresses.
std::vector<std::string> links(const fs::path& page) {
  std::vector<std::string> all;
  for (const std::string& target : found(prose(page), std::regex(R"(\]\(([^)\s]+)\))"))) {
    if (target.find("://") == std::string::npos && !target.starts_with("mailto:")) all.push_back(target);
  }
  return all;
}

}  // namespace

TEST_CASE("links: every link between pages leads to a file, and to a heading in it") {
  size_t seen = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& link : links(page)) {
      ++seen;
      const std::string file = link.substr(0, link.find('#'));
      const fs::path target = file.empty() ? page : page.parent_path() / file;
      INFO(fs::relative(page, kRoot).string() << " links to " << link);
      CHECK(fs::exists(target));
      if (!fs::exists(target) || target.extension() != ".md" || link.find('#') == std::string::npos) continue;
      CHECK(anchors(target).contains(link.substr(link.find('#') + 1)));
    }
  }
  CHECK(seen > 200);
}

TEST_CASE("links: pages name tests of the cluster that exist") {
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "test/cluster")) {
    if (entry.path().extension() != ".go") continue;
    for (const std::string& name : found(read_file(entry.path()), std::regex(R"(\nfunc (Test\w+)\()")))
      tests.insert(name);
  }
  size_t seen = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& name : found(prose(page), std::regex(R"(`(Test[A-Z]\w+)`)"))) {
      ++seen;
      CHECK_MESSAGE(tests.contains(name), fs::relative(page, kRoot).string() << " names " << name);
    }
  }
  CHECK(seen > 50);
}

TEST_CASE("links: every page is found from README.md") {
  std::set<fs::path> reached;
  std::vector<fs::path> open = {kRoot / "README.md"};
  while (!open.empty()) {
    const fs::path page = open.back();
    open.pop_back();
    if (!reached.insert(page).second || page.extension() != ".md") continue;
    for (const std::string& link : links(page)) {
      const std::string file = link.substr(0, link.find('#'));
      const fs::path target = (page.parent_path() / file).lexically_normal();
      if (!file.empty() && fs::is_regular_file(target)) open.push_back(target);
    }
  }
  for (const fs::path& page : pages()) {
    // Notes of decisions are found in their folder.
    if (page.parent_path().filename() == "decisions") continue;
    CHECK_MESSAGE(reached.contains(page.lexically_normal()), fs::relative(page, kRoot).string()
                                                                 << " is linked from nowhere");
  }
}

}  // namespace links_test
