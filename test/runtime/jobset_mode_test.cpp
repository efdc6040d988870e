#include "runtime/jobset_mode.h"

#include <doctest/doctest.h>

#include <string>

#include "api/meta/time.h"
#include "test/commands/moving/fake_cluster.h"

namespace jobset_mode_test {

using namespace muster;
using namespace muster::runtime;

TEST_CASE("jobset mode: who runs JobSets follows from the setting and from what is there") {
  const JobSetTraces nothing;
  const JobSetTraces ours{.has_definition = true, .definition_is_ours = true, .foreign_controller = {}};
  const JobSetTraces theirs{.has_definition = true, .definition_is_ours = false, .foreign_controller = {}};
  const JobSetTraces alive{
      .has_definition = true, .definition_is_ours = true, .foreign_controller = {"its Lease x, held by y"}};
  enum Expected { kNative, kExternal, kRefused };
  struct Row {
    const char* name;
    JobSetController choice;
    const JobSetTraces& traces;
    Expected expected;
  };
  const Row rows[] = {
      {"auto on a cluster without JobSet is native", JobSetController::kAuto, nothing, kNative},
      {"auto with muster's own definition is native", JobSetController::kAuto, ours, kNative},
      {"auto with a foreign definition is external", JobSetController::kAuto, theirs, kExternal},
      {"auto with muster's definition and a live foreign controller is refused", JobSetController::kAuto, alive,
       kRefused},
      {"native over a foreign definition is refused", JobSetController::kNative, theirs, kRefused},
      {"native beside a live foreign controller is refused", JobSetController::kNative, alive, kRefused},
      {"external is external in any case", JobSetController::kExternal, alive, kExternal},
      {"external on a cluster without JobSet is external", JobSetController::kExternal, nothing, kExternal},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    const auto native = decide_native_jobsets(row.choice, row.traces);
    CHECK(native.ok() == (row.expected != kRefused));
    if (native.ok()) CHECK(*native == (row.expected == kNative));
    if (!native.ok()) {
      const bool alive_there = !row.traces.foreign_controller.empty();
      const char* reason = alive_there ? "its Lease x, held by y" : "apply muster's";
      CHECK(native.error().message.find(reason) != std::string::npos);
      CHECK(native.error().message.find("--jobset-controller=external") != std::string::npos);
    }
  }
}

TEST_CASE("jobset mode: the other controller is who its webhook configuration names and nobody when there is none") {
  CHECK(foreign_controller_user({}).empty());
  JobSetTraces traces;
  traces.foreign_controller = {"its Lease x, held by y"};
  CHECK(foreign_controller_user(traces).empty());
  traces.foreign_namespace = "there";
  CHECK(foreign_controller_user(traces) == "system:serviceaccount:there:jobset-controller-manager");
}

TEST_CASE("jobset mode: a Lease that muster adopt holds is no other controller's") {
  test::FakeCluster cluster;
  const TimePoint now = to_time_point(*parse_rfc3339("2026-06-01T12:00:00Z"));
  for (const bool adopted : {false, true}) {
    const std::string id = adopted ? "0123456789abcdef0123456789abcdef" : "8a0f3c1e-1111-2222-3333-444455556666";
    cluster.put("/apis/coordination.k8s.io/v1/namespaces/jobset-system/leases/6d4f6a47.jobset.x-k8s.io",
                {{"spec",
                  {{"holderIdentity", "somebody_" + id},
                   {"leaseDurationSeconds", 2147483647},
                   {"renewTime", "2026-06-01T11:59:59.000000Z"}}}});
    const auto traces = find_jobset_traces(cluster, JobSetController::kAuto, now);
    REQUIRE(traces.ok());
    CHECK(traces->foreign_controller.empty() == adopted);
  }
}

}  // namespace jobset_mode_test
