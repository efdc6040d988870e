// The invariant about pending Workloads with an untried flavor notices what must not happen: each case has an API
// server and no muster.
#include "test/world/invariants/idle_flavors.h"

#include <doctest/doctest.h>

#include "test/simulation/flavors/world.h"

namespace idle_flavors_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A Workload of one cpu, pending in a ClusterQueue with one cpu of each of three flavors.
struct Fixture {
  Timeline timeline{TimePoint(std::chrono::seconds(1'800'000'000))};
  ApiServer server{timeline, {}};
  std::vector<std::string> violations;
  IdleFlavors flavors{server, timeline, [this](const std::string& what) { violations.push_back(what); }};

  Fixture() {
    server.on_change([this](const Change& change) { flavors.see(change); });
    REQUIRE(server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}}).done());
    for (const json& object : three_flavors(rules_of({{"*", 5}}), "RetryAllFlavors", 1, 1, 1))
      REQUIRE(server.create(object).done());
    REQUIRE(server.create(workload("w")).done());
  }
  static json workload(const std::string& name) {
    json pod = pod_template();
    pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1"}}}};
    return {{"apiVersion", kWorkloads.api_version},
            {"kind", kWorkloads.kind},
            {"metadata", {{"name", name}, {"namespace", "default"}}},
            {"spec",
             {{"queueName", "team"}, {"podSets", json::array({{{"name", "main"}, {"count", 1}, {"template", pod}}})}}}};
  }
  void fail(std::initializer_list<const char*> failed) {
    json history = json::array();
    for (const char* flavor : failed)
      history.push_back({{"resourceFlavor", flavor}, {"failure", {{"reason", "AdmissionCheckRejected"}}}});
    patch("w", {{"flavorAssignmentHistory", history}, {"flavorFallback", {{"clusterQueue", "cluster"}}}});
  }
  // Has the quota of a flavor.
  void hold(const std::string& name, const char* flavor) {
    REQUIRE(server.create(workload(name)).done());
    const json pod_set = {
        {"name", "main"}, {"count", 1}, {"flavors", {{"cpu", flavor}}}, {"resourceUsage", {{"cpu", "1"}}}};
    patch(name, {{"admission", {{"clusterQueue", "cluster"}, {"podSetAssignments", json::array({pod_set})}}},
                 {"conditions", json::array({{{"type", "QuotaReserved"},
                                              {"status", "True"},
                                              {"reason", "QuotaReserved"},
                                              {"message", ""},
                                              {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}});
  }
  void patch(const std::string& name, const json& status) {
    REQUIRE(server.patch_status({&kWorkloads, "default", name}, {{"status", status}}, {}).done());
  }
  // A change of any object is enough to look again.
  void pass(Duration time) {
    timeline.move_to(timeline.time() + time);
    REQUIRE(server
                .create({{"apiVersion", "v1"},
                         {"kind", "Namespace"},
                         {"metadata", {{"name", "at-" + std::to_string(timeline.elapsed().count())}}}})
                .done());
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "idle flavors: a Workload that is pending beside a free flavor is noticed, once") {
  pass(IdleFlavors::kPatience);
  CHECK(violations.empty());
  pass(1s);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].find("it could have reservation") != std::string::npos);
  pass(1s);
  CHECK(violations.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "idle flavors: flavors that have failed or are in use are not free, and the last one is") {
  fail({"reservation"});
  hold("a", "spot");
  pass(IdleFlavors::kPatience + 1s);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].find("it could have on-demand") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "idle flavors: without a free flavor nothing is noticed") {
  fail({"reservation", "on-demand"});
  hold("a", "spot");
  pass(1h);
  CHECK(violations.empty());
}

TEST_CASE_FIXTURE(Fixture, "idle flavors: the time begins when the flavor becomes free") {
  hold("a", "reservation");
  hold("b", "spot");
  hold("c", "on-demand");
  pass(1h);
  patch("b", {{"conditions", json::array({{{"type", "Finished"},
                                           {"status", "True"},
                                           {"reason", "Succeeded"},
                                           {"message", ""},
                                           {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}});
  pass(IdleFlavors::kPatience);
  CHECK(violations.empty());
  pass(1s);
  CHECK(violations.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "idle flavors: a backoff, a deactivation and a stopped queue are no idleness") {
  SUBCASE("backoff") {
    patch("w", {{"requeueState", {{"requeueAt", format_rfc3339(to_timestamp(timeline.now().wall + 2h))}}}});
  }
  SUBCASE("deactivated") {
    REQUIRE(server.patch({&kWorkloads, "default", "w"}, {{"spec", {{"active", false}}}}, {}).done());
  }
  SUBCASE("stopped") {
    REQUIRE(server.patch({&kClusterQueues, "", "cluster"}, {{"spec", {{"stopPolicy", "Hold"}}}}, {}).done());
  }
  pass(1h);
  CHECK(violations.empty());
}

}  // namespace idle_flavors_test
