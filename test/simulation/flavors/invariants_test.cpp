// The invariants of flavor fallback notice what must not happen: each is broken on purpose, with an
// API server and no muster.
#include "test/world/invariants/flavor_invariants.h"

#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/queues.h"

namespace flavor_invariants_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using nlohmann::json;
using std::chrono::seconds;

namespace {

struct Fixture {
  Timeline timeline{TimePoint(seconds(1'800'000'000))};
  ApiServer server{timeline, {}};
  std::vector<std::string> violations;
  FlavorInvariants flavors{[this](const std::string& what) { violations.push_back(what); }};

  Fixture() {
    server.on_change([this](const Change& change) { flavors.see(change); });
    server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
    json queue = queues(3)[1];
    queue["spec"]["flavorFungibility"]["fallbackStrategy"] = {{"failurePolicy", "DeactivateWorkload"},
                                                              {"rules", {{{"name", "*"}, {"timeoutMinutes", 1}}}}};
    REQUIRE(server.create(queue).done());
    REQUIRE(server
                .create({{"apiVersion", kWorkloads.api_version},
                         {"kind", kWorkloads.kind},
                         {"metadata", {{"name", "w"}, {"namespace", "default"}}},
                         {"spec", json::object()}})
                .done());
  }
  void set(const char* reserved, const char* evicted, const json& history = json::array(),
           const char* reason = "FlavorFallback") {
    const auto condition = [&](const char* type, const char* status, const char* why) {
      return json{{"type", type},
                  {"status", status},
                  {"reason", why},
                  {"message", ""},
                  {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    };
    const json pod_set = {{"name", "main"}, {"flavors", {{"cpu", "default"}}}};
    const json status = {{"admission", {{"clusterQueue", "cluster"}, {"podSetAssignments", json::array({pod_set})}}},
                         {"flavorAssignmentHistory", history},
                         {"flavorFallback", {{"clusterQueue", "cluster"}}},
                         {"conditions", json::array({condition("QuotaReserved", reserved, "Reason"),
                                                     condition("Evicted", evicted, reason)})}};
    REQUIRE(server.patch_status({&kWorkloads, "default", "w"}, {{"status", status}}, {}).done());
  }
};

const json kFailed = json::array(
    {{{"resourceFlavor", "default"}, {"failure", {{"reason", "AdmissionCheckRejected"}, {"time", nullptr}}}}});

}  // namespace

TEST_CASE_FIXTURE(Fixture, "flavor invariants: quota on a flavor that has not failed breaks none") {
  set("True", "False");
  set("True", "True", kFailed);
  CHECK(violations.empty());
}

TEST_CASE_FIXTURE(Fixture, "flavor invariants: quota on a flavor that has failed is noticed") {
  set("True", "False", kFailed);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].find("which has failed for it") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "flavor invariants: under DeactivateWorkload more fallbacks than flavors are noticed") {
  set("True", "False");
  set("True", "True");
  CHECK(violations.empty());
  set("True", "False", json::array(), "QuotaReserved");
  set("True", "True");
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].find("for ever") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "flavor invariants: evictions for another reason are no fallbacks") {
  for (int i = 0; i < 5; ++i) {
    set("True", "False");
    set("True", "True", json::array(), "Preempted");
  }
  CHECK(violations.empty());
}

}  // namespace flavor_invariants_test
