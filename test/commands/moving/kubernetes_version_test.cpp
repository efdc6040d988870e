// docs/kubernetes-versions.md says what the programs, the chart and the test cluster say.
#include "commands/moving/rules/kubernetes_version.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace kubernetes_version_test {

using namespace muster;
using namespace muster::commands;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = MUSTER_SOURCE_DIR;

// "The policy lean-workloads needs Kubernetes 1.36: Workloads keep ...", of a Kubernetes 1.<minor>.
std::vector<std::string> notes_of(int minor) {
  std::vector<Finding> findings;
  judge_kubernetes(minor, true, findings);
  std::vector<std::string> notes;
  for (const Finding& finding : findings) notes.push_back(finding.problem);
  return notes;
}

// The version in the go.mod of a control plane, as "1.36.3".
std::string version_in(const fs::path& module) {
  std::smatch found;
  const std::string text = test::read_file(module);
  REQUIRE(std::regex_search(text, found, std::regex("\n\tk8s.io/kubernetes v([0-9.]+)\n")));
  return found[1];
}

std::string one(int minor) {
  return "1." + std::to_string(minor);
}

}  // namespace

TEST_CASE("kubernetes versions: the page has the oldest version and every feature with its sentence") {
  const std::string page = test::read_file(kRoot / "docs/kubernetes-versions.md");
  CHECK(page.find("| Supported | " + one(kOldestMinor) + " and later |") != std::string::npos);
  const std::string head = "| From | Part | Before |\n|---|---|---|\n";
  const size_t table = page.find(head);
  REQUIRE(table != std::string::npos);
  const size_t first = table + head.size();
  const std::string rows = page.substr(first, page.find("\n\n", first) - first);
  std::vector<std::string> notes;
  const std::regex row(R"(\| 1\.(\d+) \| (.*) \| (.*) \|)");
  for (std::sregex_iterator it(rows.begin(), rows.end(), row), end; it != end; ++it) {
    const int minor = std::stoi((*it)[1]);
    notes.push_back((*it)[2].str() + " needs Kubernetes " + one(minor) + ": " + (*it)[3].str());
    INFO(notes.back());
    const auto older = notes_of(minor - 1), newer = notes_of(minor);
    CHECK(std::find(older.begin(), older.end(), notes.back()) != older.end());
    CHECK(std::find(newer.begin(), newer.end(), notes.back()) == newer.end());
  }
  CHECK(notes == notes_of(kOldestMinor));
  CHECK_FALSE(notes.empty());
  CHECK(test::read_file(kRoot / "manifests/charts/muster/Chart.yaml")
            .find("kubeVersion: \">=" + one(kOldestMinor) + ".0-0\"") != std::string::npos);
}

TEST_CASE("kubernetes versions: what the test cluster is built of is what the page says is tested") {
  const std::string page = test::read_file(kRoot / "docs/kubernetes-versions.md");
  CHECK(page.find("| Tested in every `./check` | " + version_in(kRoot / "test/cluster/go.mod") + " |") !=
        std::string::npos);
  std::set<std::string> others;
  for (const auto& entry : fs::directory_iterator(kRoot / "test/cluster/kubernetes")) {
    const std::string minor = entry.path().filename(), version = version_in(entry.path() / "go.mod");
    CHECK(version.starts_with(minor + "."));
    CHECK(page.find("| Tested by `scripts/check_kubernetes " + minor + "` | " + version) != std::string::npos);
    others.insert(minor);
  }
  CHECK(others.contains(one(kOldestMinor)));
}

}  // namespace kubernetes_version_test
