#include "commands/leadership.h"

#include <doctest/doctest.h>

#include <string>

using namespace muster;

TEST_CASE("leadership: settings that cannot work are refused by name") {
  struct Row {
    const char* name;
    LeaderElectionSettings settings;
    const char* refused;  // null: accepted
  };
  using std::chrono::seconds;
  const Row rows[] = {
      {"the defaults", {}, nullptr},
      {"another lock than a Lease", {.resource_lock = "endpoints"}, "leaderElection.resourceLock"},
      {"a renew deadline beyond the lease", {.renew_deadline = seconds(20)}, "leaderElection"},
      {"no retry at all", {.retry_period = seconds(0)}, "leaderElection"},
      {"nothing of it matters without an election", {.leader_elect = false, .resource_lock = "endpoints"}, nullptr},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    const auto checked = check(row.settings);
    CHECK(checked.ok() == (row.refused == nullptr));
    if (!checked.ok()) CHECK(checked.error().message.find(row.refused) != std::string::npos);
  }
}

TEST_CASE("leadership: every process has an identity of its own") {
  const std::string a = process_identity(), b = process_identity();
  CHECK(a != b);
  CHECK(a.find('_') != std::string::npos);
  CHECK(a.substr(0, a.find('_')) == b.substr(0, b.find('_')));
}
