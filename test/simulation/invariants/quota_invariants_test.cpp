// The invariants of quota notice what must not happen: each is broken on purpose, with an
// API server and no muster.
#include "test/world/invariants/quota_invariants.h"

#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"

namespace quota_invariants_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using nlohmann::json;
using std::chrono::seconds;

namespace {

json condition(const char* type, const char* status) {
  return {{"type", type},
          {"status", status},
          {"reason", "Reason"},
          {"message", ""},
          {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
}

// Two teams of three cpus each.
struct Fixture {
  Timeline timeline{TimePoint(seconds(1'800'000'000))};
  ApiServer server{timeline, {}};
  std::vector<std::string> violations;
  QuotaInvariants quota{server, timeline, [this](const std::string& what) { violations.push_back(what); }};

  Fixture() {
    server.on_change([this](const Change& change) { quota.see(change); });
    server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
    for (const json& object : two_teams(3)) REQUIRE(server.create(object).done());
  }
  static ObjectKey key(const std::string& name) { return {&kWorkloads, "default", name}; }

  void make(const std::string& name, const json& owner = nullptr) {
    json object = {{"apiVersion", kWorkloads.api_version},
                   {"kind", kWorkloads.kind},
                   {"metadata", {{"name", name}, {"namespace", "default"}}},
                   {"spec", json::object()}};
    if (!owner.is_null()) object["metadata"]["ownerReferences"] = json::array({owner});
    REQUIRE(server.create(object).done());
  }
  void admit(const std::string& name, const std::string& queue, int cpus) {
    const json pod_set = {{"name", "main"},
                          {"count", cpus},
                          {"flavors", {{"cpu", "default"}}},
                          {"resourceUsage", {{"cpu", std::to_string(cpus)}}}};
    set(name, {{"admission", {{"clusterQueue", queue}, {"podSetAssignments", json::array({pod_set})}}},
               {"conditions", json::array({condition("QuotaReserved", "True"), condition("Evicted", "False")})}});
  }
  void release(const std::string& name, bool evicted) {
    set(name, {{"admission", nullptr},
               {"conditions",
                json::array({condition("QuotaReserved", "False"), condition("Evicted", evicted ? "True" : "False")})}});
  }
  void set(const std::string& name, const json& status) {
    REQUIRE(server.patch_status(key(name), {{"status", status}}, {}).done());
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "quota invariants: a team that borrows all of the other's quota breaks none") {
  make("a");
  make("b");
  admit("a", "red", 4);
  admit("b", "red", 2);
  release("a", true);
  CHECK(violations.empty());
}

TEST_CASE_FIXTURE(Fixture, "quota invariants: more than both teams have is noticed") {
  make("a");
  make("b");
  admit("a", "red", 4);
  admit("b", "blue", 3);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].find("Cohort all use 7000m") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "quota invariants: more than a team may borrow is noticed") {
  json groups = (*server.get({&kClusterQueues, "", "red"}))["spec"]["resourceGroups"];
  groups[0]["flavors"][0]["resources"][0]["borrowingLimit"] = "1";
  REQUIRE(server.patch({&kClusterQueues, "", "red"}, {{"spec", {{"resourceGroups", groups}}}}, {}).done());
  timeline.move_to(timeline.time() + seconds(60));
  make("a");
  admit("a", "red", 5);
  CHECK(violations.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "quota invariants: quota that is given back without an eviction is noticed") {
  make("a");
  admit("a", "red", 1);
  release("a", false);
  CHECK(violations.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "quota invariants: quota that changes its ClusterQueue is noticed") {
  make("a");
  admit("a", "red", 1);
  admit("a", "blue", 1);
  CHECK(violations.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "quota invariants: quota that is given back while pods run is noticed") {
  const Answer job = server.create(job_of(1));
  REQUIRE(job.done());
  make("a", {{"apiVersion", "batch/v1"},
             {"kind", "Job"},
             {"name", "train"},
             {"uid", string_at(*job.object, {"metadata", "uid"})},
             {"controller", true}});
  admit("a", "red", 1);
  REQUIRE(server.patch_status(job_key(), {{"status", {{"active", 1}}}}, {}).done());
  release("a", true);
  CHECK(violations.size() == 1);
}

}  // namespace quota_invariants_test
