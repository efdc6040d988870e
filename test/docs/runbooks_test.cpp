// Every alert that is shipped has a section in docs/runbooks.md, and its metrics are those that muster has; every
// section is an alert's.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "test/support/files.h"

namespace runbooks_test {

namespace {

const std::filesystem::path kRoot = MUSTER_SOURCE_DIR;

std::set<std::string> found(const std::string& text, const std::regex& pattern) {
  std::set<std::string> all;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) all.insert((*it)[1]);
  return all;
}

// Also the names of a histogram's series.
std::set<std::string> documented_metrics() {
  std::set<std::string> all = found(muster::test::read_file(kRoot / "docs/metrics.md"),
                                    std::regex(R"(`((?:kueue|muster|rest_client|leader_election)_\w+)[`{])"));
  // Names of the table of ClusterQueues, again by LocalQueue.
  for (const std::string& name : std::set<std::string>(all)) {
    if (name.starts_with("kueue_") && !name.starts_with("kueue_local_queue_"))
      all.insert("kueue_local_queue_" + name.substr(6));
  }
  for (const char* name : {"rest_client_requests_total", "rest_client_request_duration_seconds"}) all.insert(name);
  for (const std::string& name : std::set<std::string>(all)) all.insert(name + "_bucket");
  return all;
}

}  // namespace

TEST_CASE("runbooks: each alert has a section, and each section an alert") {
  const std::string rules = muster::test::read_file(kRoot / "manifests/charts/muster/files/alerts.yaml");
  const auto alerts = found(rules, std::regex(R"(- alert: (\w+))"));
  CHECK(alerts.size() >= 10);
  CHECK(found(muster::test::read_file(kRoot / "docs/runbooks.md"), std::regex("\n## (\\w+)\n")) == alerts);
  for (const std::string& alert : alerts) {
    std::string anchor = alert;
    for (char& letter : anchor) letter = static_cast<char>(tolower(letter));
    CHECK_MESSAGE(rules.find("runbook: docs/runbooks.md#" + anchor + "\n") != std::string::npos, alert);
  }
}

TEST_CASE("runbooks: alerts and dashboards ask for metrics that docs/metrics.md describes") {
  const auto known = documented_metrics();
  const std::regex metric(R"(\b((?:kueue|muster|rest_client|leader_election)_[a-z_]+[a-z])\b(?=[{\[) ]))");
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "manifests/charts/muster/files")) {
    if (entry.path().filename() != "alerts.yaml" && entry.path().extension() != ".json") continue;
    ++files;
    for (const std::string& name : found(muster::test::read_file(entry.path()), metric))
      CHECK_MESSAGE(known.contains(name), entry.path().filename().string() << " asks for " << name);
  }
  CHECK(files == 4);
}

}  // namespace runbooks_test
