// docs/demo.md is the output of ./demo: its chapters are those of the scripts, in their order.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace demo_test {

namespace {

const std::filesystem::path kRoot = MUSTER_SOURCE_DIR;

// The first group of each match, in the order of the text.
std::vector<std::string> found(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> all;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) all.push_back((*it)[1]);
  return all;
}

// As ./demo runs them with a control plane and a kubelet.
std::vector<std::string> chapters_of_scripts() {
  const std::string demo = muster::test::read_file(kRoot / "demo");
  const std::vector<std::string> scripts =
      found(demo, std::regex(R"(\bscripts/demo/(story|group|queue|kinds|fallback|late)(?=$|;|\n))"));
  CHECK(scripts == std::vector<std::string>{"story", "group", "queue", "kinds", "fallback", "late"});
  std::vector<std::string> chapters;
  for (const std::string& script : scripts) {
    const std::string text = muster::test::read_file(kRoot / "scripts/demo" / script);
    for (std::string& chapter : found(text, std::regex("\nsay \"([^\"]*)\""))) chapters.push_back(std::move(chapter));
  }
  return chapters;
}

}  // namespace

TEST_CASE("demo: the chapters are numbered without a gap") {
  const std::vector<std::string> chapters = chapters_of_scripts();
  REQUIRE(chapters.size() >= 10);
  for (size_t i = 0; i < chapters.size(); ++i) CHECK(chapters[i].starts_with(std::to_string(i + 1) + ". "));
}

TEST_CASE("demo: docs/demo.md has the chapters of the scripts, in their order") {
  const std::string page = "\n" + muster::test::read_file(kRoot / "docs/demo.md");
  CHECK(found(page, std::regex("\n([0-9]+\\. [^\n]*)")) == chapters_of_scripts());
}

}  // namespace demo_test
