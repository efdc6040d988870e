// docs/log.md against the sources: every message of a decision has a row, and every row is one.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "test/support/files.h"

namespace log_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MUSTER_SOURCE_DIR;

std::set<std::string> found(const std::string& text, const std::regex& pattern) {
  std::set<std::string> all;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) all.insert((*it)[1]);
  return all;
}

}  // namespace

TEST_CASE("log: every decision that is logged is in docs/log.md, and no other") {
  const std::set<std::string> rows =
      found(muster::test::read_file(kRoot / "docs/log.md"), std::regex(R"(\n\| `([a-z ]+)` \|)"));
  std::set<std::string> messages;
  const std::regex message(R"re("((?:quota|workload|job|gang) [a-z ]+)")re");
  for (const char* source :
       {"state/decision_log.cpp", "reconcilers/job/job_workload_run.cpp", "reconcilers/gang/group_scheduling.cpp"})
    messages.merge(found(muster::test::read_file(kRoot / source), message));
  CHECK(rows == messages);
  CHECK(rows.size() >= 11);
}

}  // namespace log_test
