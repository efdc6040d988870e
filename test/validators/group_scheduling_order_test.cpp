// The rules against orders that a barrier turns into a circle: startup_policy,
// depends_on, single_barrier.
#include "test/validators/group_scheduling_support.h"

namespace muster::test::group_scheduling_order_test {
namespace {

using nlohmann::json;
using Fields = std::vector<std::string>;

constexpr const char* kOrder = "spec.startupPolicy.startupPolicyOrder";

struct PolicyRow {
  std::string name;
  const char* parts;
  bool allowed;
};

const PolicyRow kPolicyRows[] = {
    {"AnyOrder",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}, "startupPolicy": {"startupPolicyOrder": "AnyOrder"}}})",
     true},
    {"InOrder without a gang", R"({"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}})", true},
    {"InOrder with a single target",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": ["b"]},
                  "startupPolicy": {"startupPolicyOrder": "InOrder"}}})",
     true},
    {"InOrder with two of three targets",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": ["c", "a"]},
                  "startupPolicy": {"startupPolicyOrder": "InOrder"}}})",
     false},
    {"InOrder with every replicated job",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}, "startupPolicy": {"startupPolicyOrder": "InOrder"}}})",
     false},
    {"InOrder with targets by annotation",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                      "muster.batch/group-scheduling-targets": "a,b"}},
         "spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}})",
     false},
};

TEST_CASE("a gang over several replicated jobs excludes the InOrder startup policy") {
  for (const PolicyRow& row : kPolicyRows) {
    INFO(row.name);
    const Fields expected = row.allowed ? Fields{} : Fields{kOrder};
    CHECK(complaints("group_scheduling_startup_policy", abc(row.parts)) == expected);
    CHECK(complaints("group_scheduling_startup_policy", abc(row.parts), abc("{}")) == expected);
  }
}

struct DependencyRow {
  std::string name;
  const char* targets;                      // of a, b, c
  const char *a_needs, *b_needs, *c_needs;  // lists of names
  Fields complaints;
};

const DependencyRow kDependencyRows[] = {
    {"no dependency", R"(["a", "b", "c"])", "[]", "[]", "[]", {}},
    {"a target on a target", R"(["a", "b"])", "[]", R"(["a"])", "[]", {"spec.replicatedJobs[1].dependsOn[0].name"}},
    {"a target on a job outside", R"(["b", "c"])", "[]", R"(["a"])", "[]", {}},
    {"a job outside on a target", R"(["a", "b"])", "[]", "[]", R"(["a"])", {}},
    {"over a job outside", R"(["a", "c"])", "[]", R"(["a"])", R"(["b"])", {"spec.replicatedJobs[2].dependsOn[0].name"}},
    {"the second of two dependencies",
     R"(["b", "c"])",
     "[]",
     "[]",
     R"(["a", "b"])",
     {"spec.replicatedJobs[2].dependsOn[1].name"}},
    {"two targets on one",
     R"(["a", "b", "c"])",
     "[]",
     R"(["a"])",
     R"(["a"])",
     {"spec.replicatedJobs[1].dependsOn[0].name", "spec.replicatedJobs[2].dependsOn[0].name"}},
    {"a circle outside the group ends the search", R"(["c"])", R"(["b"])", R"(["a"])", "[]", {}},
    {"a name that nobody has", R"(["a", "b"])", "[]", R"(["nobody"])", "[]", {}},
};

TEST_CASE("targets of one gang do not depend on each other") {
  for (const DependencyRow& row : kDependencyRows) {
    INFO(row.name);
    json object = abc("{}");
    object["spec"]["groupSchedulingConfig"] = {{"timeoutAfterSeconds", 9},
                                               {"targetReplicatedJobs", json::parse(row.targets)}};
    const char* const needs[] = {row.a_needs, row.b_needs, row.c_needs};
    for (size_t i = 0; i < 3; ++i) {
      for (const json& name : json::parse(needs[i])) {
        object["spec"]["replicatedJobs"][i]["dependsOn"].push_back({{"name", name}, {"status", "Ready"}});
      }
    }
    CHECK(complaints("group_scheduling_depends_on", object) == row.complaints);
    CHECK(complaints("group_scheduling_depends_on", object, abc("{}")) == row.complaints);
  }
}

TEST_CASE("a pod waits at one barrier only") {
  const char* gang =
      R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": ["a"]}}})";
  CHECK(complaints("group_scheduling_single_barrier", abc(gang)).empty());

  json in_place = abc(gang);
  in_place["spec"]["failurePolicy"]["restartStrategy"] = "InPlaceRestart";
  CHECK(complaints("group_scheduling_single_barrier", in_place) == Fields{"spec.failurePolicy.restartStrategy"});
  in_place["spec"]["failurePolicy"]["restartStrategy"] = "Recreate";
  CHECK(complaints("group_scheduling_single_barrier", in_place).empty());

  json nested = abc(gang);
  json& jobs = nested["spec"]["replicatedJobs"];
  const std::string timeout = "muster.batch/group-scheduling-timeout-seconds";
  jobs[1]["template"]["metadata"]["annotations"][timeout] = "60";
  CHECK(complaints("group_scheduling_single_barrier", nested).empty());
  jobs[0]["template"]["metadata"]["annotations"][timeout] = "60";
  CHECK(complaints("group_scheduling_single_barrier", nested) ==
        Fields{"spec.replicatedJobs[0].template.metadata.annotations[" + timeout + "]"});
}

}  // namespace
}  // namespace muster::test::group_scheduling_order_test
