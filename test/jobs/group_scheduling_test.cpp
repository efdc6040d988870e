#include "jobs/group_scheduling.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::jobs::group_scheduling_test {
namespace {

using nlohmann::json;

// A JobSet with the replicated jobs workers and driver; `parts` are merged over it.
json jobset_with(const char* parts) {
  json object = json::parse(R"({"metadata": {"name": "train"}, "spec": {"replicatedJobs": [
      {"name": "workers", "template": {"spec": {"template": {"spec": {}}}}},
      {"name": "driver", "template": {"spec": {"template": {"spec": {}}}}}]}})");
  object.merge_patch(json::parse(parts));
  return object;
}

struct Row {
  std::string name;
  const char* parts;
  const char* error;  // what the only error begins with; empty when the gang is usable
};

const Row kJobSetRows[] = {
    {"the field with a timeout", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 300}}})", ""},
    {"an empty list of targets means all",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 1, "targetReplicatedJobs": []}}})", ""},
    {"the largest timeout", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 2147483647}}})", ""},
    {"no timeout", R"({"spec": {"groupSchedulingConfig": {}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Required value: say how many seconds"},
    {"a timeout of zero", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 0}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: 0: must be at least 1"},
    {"a negative timeout", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": -5}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: -5: must be at least 1"},
    {"a timeout beyond int32", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 2147483648}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: 2147483648: must be at most 2147483647"},
    {"a timeout beyond int64", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 18446744073709551615}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: 18446744073709551615: must be at most"},
    {"a timeout with a fraction", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 1.5}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: 1.5: must be a whole number"},
    {"a timeout in quotes", R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": "300"}}})",
     "spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: \"300\": must be a whole number"},
    {"a field that is no object", R"({"spec": {"groupSchedulingConfig": 300}})",
     "spec.groupSchedulingConfig: Invalid value: 300: must be an object"},
    {"an unknown target",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 1, "targetReplicatedJobs": ["wrokers"]}}})",
     "spec.groupSchedulingConfig.targetReplicatedJobs[0]: Invalid value: \"wrokers\": is not a replicated job of this "
     "JobSet; name one of \"workers\", \"driver\""},
    {"a target listed twice",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 1, "targetReplicatedJobs": ["driver", "driver"]}}})",
     "spec.groupSchedulingConfig.targetReplicatedJobs[1]: Duplicate value: \"driver\": list each target once"},
    {"a target that is no string",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 1, "targetReplicatedJobs": [7]}}})",
     "spec.groupSchedulingConfig.targetReplicatedJobs[0]: Invalid value: 7: must be the name"},
    {"targets that are no list",
     R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 1, "targetReplicatedJobs": "driver"}}})",
     "spec.groupSchedulingConfig.targetReplicatedJobs: Invalid value: \"driver\": must be a list"},
    {"annotations with blanks between targets",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "300",
                                      "muster.batch/group-scheduling-targets": " workers , driver"}}})",
     ""},
    {"an empty timeout annotation",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": ""}}})",
     "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]: Invalid value: \"\": must be a whole"},
    {"a timeout annotation with a unit",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "5m"}}})",
     "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]: Invalid value: \"5m\": must be a whole"},
    {"a negative timeout annotation",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "-5"}}})",
     "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]: Invalid value: \"-5\": must be at least 1"},
    {"a timeout annotation of many digits",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "99999999999999999999"}}})",
     "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]: Invalid value: "
     "\"99999999999999999999\": must be at most"},
    {"an empty targets annotation",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "300",
                                      "muster.batch/group-scheduling-targets": ""}}})",
     "metadata.annotations[muster.batch/group-scheduling-targets]: Invalid value: \"\": must be names"},
    {"a comma too many",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "300",
                                      "muster.batch/group-scheduling-targets": "workers,"}}})",
     "metadata.annotations[muster.batch/group-scheduling-targets]: Invalid value: \"workers,\": must be names"},
    {"an unknown target in the annotation",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "300",
                                      "muster.batch/group-scheduling-targets": "driver,x"}}})",
     "metadata.annotations[muster.batch/group-scheduling-targets]: Invalid value: \"x\": is not a replicated job"},
    {"targets without a timeout",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-targets": "driver"}}})",
     "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]: Required value: targets alone"},
    {"field and annotation that say the same",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "300",
                                      "muster.batch/group-scheduling-targets": "driver,workers"}},
         "spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 300}}})",
     ""},
    {"two timeouts that differ",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "300"}},
         "spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 600}}})",
     "metadata.annotations[muster.batch/group-scheduling-timeout-seconds]: Invalid value: \"300\": disagrees with "
     "spec.groupSchedulingConfig.timeoutAfterSeconds, which is 600"},
    {"two lists of targets that differ",
     R"({"metadata": {"annotations": {"muster.batch/group-scheduling-targets": "driver"}},
         "spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 600}}})",
     "metadata.annotations[muster.batch/group-scheduling-targets]: Invalid value: [\"driver\"]: disagrees with "
     "spec.groupSchedulingConfig.targetReplicatedJobs, which is empty and so means all"},
};

TEST_CASE("a JobSet's group configuration is read strictly from field and annotations") {
  for (const Row& row : kJobSetRows) {
    INFO(row.name);
    const GroupReading reading = read_group_scheduling(jobset, jobset_with(row.parts));
    CHECK(reading.present());
    FieldErrors errors = reading.timeout_errors;
    append(errors, reading.target_errors);
    append(errors, reading.disagreements);
    CHECK(reading.usable() == errors.empty());
    CHECK(errors.size() == (*row.error == '\0' ? 0 : 1));
    if (!errors.empty()) {
      INFO(errors[0].text());
      CHECK(errors[0].text().starts_with(row.error));
      CHECK(!group_config(jobset, jobset_with(row.parts)).has_value());
    }
  }
}

TEST_CASE("a gang's targets are resolved in the order of the job") {
  const auto targets = [](const char* parts) { return group_config(jobset, jobset_with(parts))->targets; };
  using Names = std::vector<std::string>;
  CHECK(targets(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})") == Names{"workers", "driver"});
  CHECK(targets(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9,
                                                       "targetReplicatedJobs": ["driver"]}}})") == Names{"driver"});
  CHECK(targets(R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                                 "muster.batch/group-scheduling-targets": "driver,workers"}}})") ==
        Names{"workers", "driver"});
  CHECK(group_config(jobset, jobset_with(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})"))
            ->timeout_seconds == 9);
}

TEST_CASE("what becomes of a gang at its timeout is read from the field or the annotation and is Fail unless said") {
  const auto action = [](const char* parts) { return group_config(jobset, jobset_with(parts))->on_timeout; };
  CHECK(action(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9}}})") == GroupTimeoutAction::kFail);
  CHECK(action(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "onTimeout": "Fail"}}})") ==
        GroupTimeoutAction::kFail);
  CHECK(action(R"({"spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "onTimeout": "Suspend"}}})") ==
        GroupTimeoutAction::kSuspend);
  CHECK(action(R"({"metadata": {"annotations": {"muster.batch/group-scheduling-timeout-seconds": "9",
                                                "muster.batch/group-scheduling-on-timeout": "Suspend"}}})") ==
        GroupTimeoutAction::kSuspend);
  CHECK(action(R"({"metadata": {"annotations": {"muster.batch/group-scheduling-on-timeout": "Suspend"}},
                   "spec": {"groupSchedulingConfig": {"timeoutAfterSeconds": 9, "onTimeout": "Suspend"}}})") ==
        GroupTimeoutAction::kSuspend);
}

TEST_CASE("a Job is a gang by its timeout annotation alone") {
  const json plain = json::parse(R"({"metadata": {"name": "a"}, "spec": {"template": {"spec": {}}}})");
  json job = plain;
  CHECK(!read_group_scheduling(batch_job, job).present());
  CHECK(!group_config(batch_job, job).has_value());

  job["metadata"]["annotations"][std::string(kGroupTimeoutAnnotation)] = "60";
  CHECK(group_config(batch_job, job)->timeout_seconds == 60);
  CHECK(group_config(batch_job, job)->has_target("main"));

  job["metadata"]["annotations"][std::string(kGroupTargetsAnnotation)] = "main";
  const GroupReading reading = read_group_scheduling(batch_job, job);
  REQUIRE(reading.target_errors.size() == 1);
  CHECK(reading.target_errors[0].text().find("a Job has no replicated jobs") != std::string::npos);

  json field = plain;
  field["spec"]["groupSchedulingConfig"]["timeoutAfterSeconds"] = 60;
  CHECK(!read_group_scheduling(batch_job, field).present());
}

TEST_CASE("a null field is no configuration") {
  CHECK(!read_group_scheduling(jobset, jobset_with(R"({"spec": {}})")).present());
  json object = jobset_with("{}");
  object["spec"]["groupSchedulingConfig"] = nullptr;
  CHECK(!read_group_scheduling(jobset, object).present());
}

TEST_CASE("a gang starts in parts if one of several targets waits for another replicated job") {
  const auto in_parts = [](const char* targets, const char* depends) {
    json object = {{"spec", {{"groupSchedulingConfig", {{"timeoutAfterSeconds", 5}}}}}};
    object["spec"]["groupSchedulingConfig"]["targetReplicatedJobs"] = json::parse(targets);
    for (const char* name : {"a", "b", "c"})
      object["spec"]["replicatedJobs"].push_back(
          {{"name", name}, {"template", {{"spec", {{"template", json::object()}}}}}});
    object["spec"]["replicatedJobs"][2]["dependsOn"] = json::parse(depends);
    return group_config(jobset, object).value().starts_in_parts;
  };
  const char* on_b = R"([{"name": "b", "status": "Complete"}])";
  CHECK(in_parts(R"(["a", "c"])", on_b));
  CHECK_FALSE(in_parts(R"(["a", "c"])", "[]"));
  CHECK_FALSE(in_parts(R"(["c"])", on_b));
  CHECK_FALSE(in_parts(R"(["a"])", on_b));
}

TEST_CASE("names of a gang follow its owner") {
  CHECK(group_config_map_name(jobset, "my-jobset") == "my-jobset-group-scheduling");
  CHECK(group_config_map_name(batch_job, "train") == "train.job-group-scheduling");
  CHECK(group_token("u", "2", "e") == "u/2/e");
}

TEST_CASE("a ConfigMap's name is that of one gang, or of the gangs that had such names before") {
  CHECK(is_group_config_map_of(jobset, "train", "train-group-scheduling"));
  CHECK(is_group_config_map_of(batch_job, "train", "train.job-group-scheduling"));
  CHECK(is_group_config_map_of(batch_job, "train", "train-job-group-scheduling"));
  CHECK_FALSE(is_group_config_map_of(batch_job, "train", "train-group-scheduling"));
  CHECK_FALSE(is_group_config_map_of(batch_job, "train", "train2.job-group-scheduling"));
  CHECK_FALSE(is_group_config_map_of(batch_job, "", ".job-group-scheduling"));
  CHECK_FALSE(is_group_config_map_of(jobset, "train", "train"));
}

struct WaiterRow {
  std::string name;
  bool ours;
  const char* container;
};

const WaiterRow kWaiterRows[] = {
    {"the static waiter", true,
     R"({"name": "group-scheduling-init", "command": ["/muster-wait"],
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]})"},
    {"the shell loop", true,
     R"({"name": "group-scheduling-init", "command": ["sh", "-c", "...", "muster-wait"],
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling/"}]})"},
    {"the loop of KEP-498 itself", true,
     R"({"name": "group-scheduling-init",
         "command": ["bash", "-c", "while true; do if [ -f /mnt/group-scheduling/started ]; then break; fi; done"],
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]})"},
    {"another program under the reserved name", false,
     R"({"name": "group-scheduling-init", "command": ["sh", "-c", "echo hello"],
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]})"},
    {"the waiter under another name", false,
     R"({"name": "init", "command": ["/muster-wait"],
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]})"},
    {"the waiter without the mount", false, R"({"name": "group-scheduling-init", "command": ["/muster-wait"]})"},
    {"the waiter on another volume", false,
     R"({"name": "group-scheduling-init", "command": ["/muster-wait"],
         "volumeMounts": [{"name": "data", "mountPath": "/mnt/group-scheduling"}]})"},
    {"no command at all", false,
     R"({"name": "group-scheduling-init",
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]})"},
    {"a command of the wrong type", false, R"({"name": "group-scheduling-init", "command": [7]})"},
    {"no container at all", false, "null"},
};

TEST_CASE("our waiter is known by what it runs and where it looks") {
  for (const WaiterRow& row : kWaiterRows) {
    INFO(row.name);
    CHECK(is_waiter(json::parse(row.container)) == row.ours);
  }
}

TEST_CASE("our volume is known by its ConfigMap") {
  const auto ours = [](const char* volume) { return is_barrier_volume(json::parse(volume)); };
  CHECK(ours(R"({"name": "group-scheduling", "configMap": {"name": "a-group-scheduling", "optional": true}})"));
  CHECK(ours(R"({"name": "group-scheduling", "configMap": {"name": "a-job-group-scheduling", "optional": true,
                                                           "defaultMode": 420}})"));
  CHECK(!ours(R"({"name": "group-scheduling", "configMap": {"name": "a-group-scheduling"}})"));
  CHECK(!ours(R"({"name": "group-scheduling", "configMap": {"name": "settings", "optional": true}})"));
  CHECK(!ours(R"({"name": "group-scheduling", "emptyDir": {}})"));
  CHECK(!ours(R"({"name": "x", "configMap": {"name": "a-group-scheduling", "optional": true}})"));
}

TEST_CASE("a list of a pod template is made only where nothing else stands") {
  json empty = json::object();
  REQUIRE(make_template_list(empty, "volumes") != nullptr);
  CHECK(empty == json::parse(R"({"spec": {"volumes": []}})"));
  json odd = json::parse(R"({"spec": {"volumes": "none"}})");
  CHECK(make_template_list(odd, "volumes") == nullptr);
  json no_spec = json::parse(R"({"spec": 3})");
  CHECK(make_template_list(no_spec, "volumes") == nullptr);
}

}  // namespace
}  // namespace muster::jobs::group_scheduling_test
