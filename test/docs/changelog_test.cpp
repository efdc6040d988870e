// CHANGELOG.md says a thing once.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace changelog_test {

namespace {

namespace fs = std::filesystem;
// Longer than any link or list of fields that two entries can both need.
constexpr size_t kRun = 60;

// Each entry on one line.
std::vector<std::string> entries_of(const std::string& changelog) {
  std::vector<std::string> entries;
  std::istringstream lines(changelog);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (line.starts_with("- "))
      entries.push_back(line.substr(2));
    else if (!entries.empty() && begin != std::string::npos && begin > 0)
      entries.back() += " " + line.substr(begin);
  }
  return entries;
}

// What two entries have in common, once for each pair.
std::vector<std::string> repeated_in(const std::vector<std::string>& entries) {
  std::map<std::string, size_t> first;
  std::set<std::pair<size_t, size_t>> known;
  std::vector<std::string> repeated;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t at = 0; at + kRun <= entries[i].size(); ++at) {
      const std::string run = entries[i].substr(at, kRun);
      const size_t before = first.emplace(run, i).first->second;
      if (before != i && known.emplace(before, i).second) repeated.push_back(run);
    }
  }
  return repeated;
}

}  // namespace

TEST_CASE("changelog: no two entries share a run of 60 characters") {
  const auto entries = entries_of(muster::test::read_file(fs::path(MUSTER_SOURCE_DIR) / "CHANGELOG.md"));
  CHECK(entries.size() > 100);
  for (const std::string& run : repeated_in(entries)) FAIL_CHECK("two entries say \"" << run << "\"");
}

TEST_CASE("changelog: an entry that is there twice is found") {
  const std::string entry = "- `muster serve` reads its certificate again when the file changes, without a restart.\n";
  CHECK(repeated_in(entries_of(entry + "- Another one.\n")).empty());
  CHECK(repeated_in(entries_of(entry + "- Another one.\n" + entry)).size() == 1);
  CHECK(repeated_in(entries_of("- New: `muster serve` reads its certificate again when the\n  file changes, without a "
                               "restart.\n" +
                               entry))
            .size() == 1);
}

}  // namespace changelog_test
