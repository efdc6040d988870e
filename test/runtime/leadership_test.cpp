#include "runtime/leadership.h"

#include <doctest/doctest.h>

#include <string>

#include "test/runtime/loop_host.h"
#include "test/support/temporary_folder.h"

namespace leadership_test {

using namespace muster;
using namespace muster::runtime;

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

TEST_CASE("leadership: without elections Kueue ends it until it is away, and a stuck engine does not") {
  const test::TemporaryFile kubeconfig(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
      "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
      "users: [{name: u, user: {}}]\n");
  const auto cluster = Cluster::connect({.kubeconfig = kubeconfig.path(), .context = ""}, system_clock());
  REQUIRE_MESSAGE(cluster.ok(), cluster.error().message);
  Leadership leadership(**cluster, {.leader_elect = false}, "muster-system", "me");
  test::TestHost host;
  host.until = [&] { return leadership.leads_until(); };
  EngineLoop loop({}, 1, system_clock(), host);
  using Pause = Leadership::Pause;
  // Kueue is there from the beginning.
  leadership.pause(Pause::kKueue);
  leadership.start(loop);
  CHECK_FALSE(leadership.leads_until().has_value());
  leadership.resume(Pause::kKueue);
  CHECK(leadership.leads_until() == MonotonicTime::max());
  leadership.pause(Pause::kStuck);
  CHECK(leadership.leads_until() == MonotonicTime::max());
  leadership.resume(Pause::kStuck);
  // It comes, which is reported again and again, and goes.
  leadership.pause(Pause::kKueue);
  leadership.pause(Pause::kKueue);
  CHECK_FALSE(leadership.leads_until().has_value());
  leadership.resume(Pause::kStuck);
  CHECK_FALSE(leadership.leads_until().has_value());
  leadership.resume(Pause::kKueue);
  CHECK(leadership.leads_until() == MonotonicTime::max());
  leadership.stop();
  loop.stop();
}

}  // namespace leadership_test
