// README.md is one screen: an answer of explain that its page has, one picture, the commands, and links by tasks.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace readme_test {

namespace {

std::string page(const std::string& name) {
  return muster::test::read_file(std::string(MUSTER_SOURCE_DIR) + "/" + name);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::ptrdiff_t count(const std::string& text, const std::regex& pattern) {
  return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
}

}  // namespace

TEST_CASE("README: it is one screen with one picture, and no paragraph is a list of links") {
  const std::string text = page("README.md");
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines.size() <= 60);
  CHECK(count(text, std::regex(R"(!\[)")) == 1);
  for (const std::string& line : lines) CHECK_MESSAGE(count(line, std::regex(R"(\]\()")) <= 6, line);
  for (const char* command : {"    ./demo ", "    ./check ", "    helm install "})
    CHECK_MESSAGE(text.find(command) != std::string::npos, command);
  // The answer comes before the picture, and that before the commands.
  CHECK(text.find("$ muster explain") < text.find("!["));
  CHECK(text.find("![") < text.find("    ./demo "));
}

TEST_CASE("README: its answer of explain is that of docs/explain.md") {
  const std::vector<std::string> lines = lines_of(page("README.md"));
  const std::vector<std::string> explained = lines_of(page("docs/explain.md"));
  const auto begin = std::find_if(lines.begin(), lines.end(),
                                  [](const std::string& line) { return line.starts_with("    $ muster explain"); });
  REQUIRE(begin != lines.end());
  size_t seen = 0;
  for (auto line = begin + 1; line != lines.end() && (line->empty() || line->starts_with("    ")); ++line) {
    if (line->empty()) continue;
    ++seen;
    CHECK_MESSAGE(std::find(explained.begin(), explained.end(), *line) != explained.end(), *line);
  }
  CHECK(seen >= 4);
}

TEST_CASE("README: it installs muster as docs/install.md does") {
  const std::string install = page("docs/install.md");
  const std::string command =
      "helm install muster manifests/charts/muster --namespace muster-system --create-namespace";
  CHECK(page("README.md").find("    " + command + " --set image.repository=REGISTRY/muster\n") != std::string::npos);
  CHECK(install.find("\n" + command + " --set image.repository=$IMAGE") != std::string::npos);
  CHECK(install.find("    " + command + " --wait") != std::string::npos);
}

TEST_CASE("README: the pages name the checks of /readyz as muster does") {
  const std::string probes = page("server/probes.h");
  for (const char* name : {"docs/troubleshooting.md", "docs/runbooks.md"}) {
    const std::string text = page(name);
    CHECK_MESSAGE(text.find("synced`") == std::string::npos, name);
    CHECK_MESSAGE(text.find("sync`") != std::string::npos, name);
  }
  CHECK(probes.find("\"sync\"") != std::string::npos);
}

}  // namespace readme_test
