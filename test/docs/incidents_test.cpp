// docs/incidents.md says what is tested where: what it names must be there.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace incidents_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MUSTER_SOURCE_DIR;

std::set<std::string> found(const std::string& text, const std::regex& pattern) {
  std::set<std::string> all;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) all.insert((*it)[1]);
  return all;
}

// Of all sources in a folder of tests.
std::set<std::string> found_in(const std::string& folder, const std::string& ending, const std::regex& pattern) {
  std::set<std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "test" / folder)) {
    if (entry.path().string().ends_with(ending)) all.merge(found(muster::test::read_file(entry.path()), pattern));
  }
  return all;
}

std::vector<std::string> rows() {
  std::vector<std::string> all;
  std::istringstream text(muster::test::read_file(kRoot / "docs/incidents.md"));
  for (std::string line; std::getline(text, line);) {
    if (std::regex_search(line, std::regex(R"(^\| \d+ \|)"))) all.push_back(line);
    if (line == "## Results") break;
  }
  return all;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> all;
  std::istringstream text(row.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) all.push_back(cell);
  return all;
}

// A line of what `test/soak/run --list` prints.
struct Soak {
  std::string name, incidents, limit, test;
};

std::vector<Soak> soaks() {
  const std::string command = (kRoot / "test/soak/run").string() + " --list";
  const auto close = [](FILE* pipe) { return pclose(pipe); };
  std::unique_ptr<FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  REQUIRE(pipe);
  std::string text;
  std::array<char, 4096> chunk{};
  while (const size_t count = fread(chunk.data(), 1, chunk.size(), pipe.get())) text.append(chunk.data(), count);
  std::vector<Soak> all;
  std::istringstream lines(text);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    Soak soak;
    std::istringstream(line) >> soak.name >> soak.incidents >> soak.limit >> soak.test;
    all.push_back(soak);
  }
  return all;
}

const std::regex kQuoted("`([^`]+)`");

}  // namespace

TEST_CASE("incidents: every incident has a test that exists and every named test does") {
  const auto cluster_tests = found_in("cluster", "_test.go", std::regex(R"(func (Test\w+)\()"));
  const std::regex unit_test(R"re(TEST_CASE(?:_FIXTURE\(\w+, |\()"([^"]+)")re");
  const auto all = rows();
  REQUIRE(all.size() == 19);
  for (size_t i = 0; i < all.size(); ++i) {
    INFO(all[i]);
    const auto columns = cells(all[i]);
    REQUIRE(columns.size() >= 5);
    CHECK(std::stoul(columns[0]) == i + 1);
    CHECK(columns[3].find('`') != std::string::npos);
    for (const std::string& name : found(columns[3], kQuoted)) {
      INFO(name);
      if (name.starts_with("Test")) {
        CHECK(cluster_tests.contains(name));
      } else if (const size_t colon = name.find(": "); colon != std::string::npos) {
        CHECK(found_in(name.substr(0, colon), "_test.cpp", unit_test).contains(name.substr(colon + 2)));
      } else {
        CHECK((name == "./check" || fs::exists(kRoot / name)));
      }
    }
  }
}

TEST_CASE("incidents: the full forms are those of test/soak/run and run tests that exist") {
  const auto cluster_tests = found_in("cluster", "_test.go", std::regex(R"(func (Test\w+)\()"));
  std::set<std::string> documented, listed;
  for (const std::string& row : rows()) documented.merge(found(cells(row).at(4), kQuoted));
  bool fuzzers = false;
  for (const Soak& soak : soaks()) {
    INFO(soak.name);
    if (soak.test.starts_with("fuzz:")) {
      CHECK(fs::exists(kRoot / "test/fuzz" / ("fuzz_" + soak.test.substr(5) + ".cpp")));
      fuzzers = true;
    } else {
      listed.insert(soak.name);
      CHECK((soak.test.find(':') != std::string::npos || cluster_tests.contains(soak.test)));
    }
    CHECK(std::stoi(soak.limit) > 0);
  }
  CHECK(fuzzers);
  CHECK(documented.erase("fuzz-*") == 1);
  CHECK(documented == listed);
}

TEST_CASE("incidents: tests that run in their long form only are run by test/soak/run") {
  std::set<std::string> run;
  for (const Soak& soak : soaks()) run.insert(soak.test);
  for (const std::string& name : found_in("cluster", "_test.go", std::regex(R"(func (TestSoak\w+)\()"))) {
    INFO(name);
    CHECK(run.contains(name));
  }
}

}  // namespace incidents_test
