// The rules about the configuration itself: timeout, targets, agreement, immutability.
// How it is read is tested in test/jobs/group_scheduling_test.cpp.
#include "test/validators/group_scheduling_support.h"

namespace muster::test::group_scheduling_config_test {
namespace {

using nlohmann::json;
using Fields = std::vector<std::string>;

constexpr const char* kField = "spec.groupSchedulingConfig";
constexpr const char* kTimeout = "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]";
constexpr const char* kTargets = "metadata.annotations[muster.batch/group-scheduling-targets]";

TEST_CASE("each mistake of a configuration is told by one rule") {
  const json bad = abc(R"({
      "metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "60"}},
      "spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": ["a", "x", "a"]}}})");
  CHECK(complaints("group_scheduling_timeout", bad).empty());
  CHECK(complaints("group_scheduling_targets", bad) == Fields{"spec.groupSchedulingConfig.targetReplicatedJobs[1]",
                                                              "spec.groupSchedulingConfig.targetReplicatedJobs[2]"});
  CHECK(complaints("group_scheduling_agreement", bad) == Fields{kTimeout});

  const json worse = abc(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": -1}}})");
  CHECK(complaints("group_scheduling_timeout", worse) == Fields{"spec.groupSchedulingConfig.timeoutAfterSeconds"});
  CHECK(complaints("group_scheduling_timeout", worse, worse) ==
        Fields{"spec.groupSchedulingConfig.timeoutAfterSeconds"});
}

struct Row {
  std::string name;
  const char* before;
  const char* after;
  Fields complaints;
};

const Row kRows[] = {
    {"nothing before and after", "{}", "{}", {}},
    {"the same field",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     {}},
    {"an empty list instead of none",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": []}}})",
     {}},
    {"a field added", "{}", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})", {kField}},
    {"a field removed", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})", "{}", {kField}},
    {"another timeout",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 10}}})",
     {kField}},
    {"a target more",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": ["a"]}}})",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "targetReplicatedJobs": ["a", "b"]}}})",
     {kField}},
    {"annotations added",
     "{}",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                      "muster.batch/group-scheduling-targets": "a"}}})",
     {kTimeout, kTargets}},
    {"annotations removed",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                      "muster.batch/group-scheduling-targets": "a"}}})",
     "{}",
     {kTimeout, kTargets}},
    {"another timeout in the annotation",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9"}}})",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "90"}}})",
     {kTimeout}},
    {"an annotation beside a field that says the same",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9"}},
         "spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     {kTimeout}},
    {"a field in place of annotations",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9"}}})",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     {kField, kTimeout}},
    {"blanks between the same targets",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                      "muster.batch/group-scheduling-targets": "a,b"}}})",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                      "muster.batch/group-scheduling-targets": "a, b"}}})",
     {}},
    {"an unusable configuration removed",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 0}}})",
     "{}",
     {}},
    {"an unusable configuration made usable",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 0}}})",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})",
     {kField}},
};

TEST_CASE("a group's configuration is settled when it is created") {
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK(complaints("group_scheduling_immutability", abc(row.after), abc(row.before)) == row.complaints);
  }
}

TEST_CASE("a deadline of Kubernetes that ends before the group's is worth a warning") {
  json job = gang_job(R"({"activeDeadlineSeconds": 301})");
  job["spec"]["activeDeadlineSeconds"] = 301;
  CHECK(warnings("group_scheduling_timeout", job).empty());
  job["spec"]["activeDeadlineSeconds"] = 300;
  job["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 10;
  const std::vector<std::string> told = warnings("group_scheduling_timeout", job);
  REQUIRE(told.size() == 2);
  CHECK(told[0].starts_with("spec.template.spec.activeDeadlineSeconds is 10 s"));
  CHECK(told[1].starts_with("spec.activeDeadlineSeconds is 300 s"));
  CHECK(warnings("group_scheduling_timeout", job, job).empty());
}

}  // namespace
}  // namespace muster::test::group_scheduling_config_test
