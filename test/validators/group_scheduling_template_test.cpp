// The rules that look into pod templates: reserved_names, position.
#include "test/validators/group_scheduling_support.h"

namespace muster::test::group_scheduling_template_test {
namespace {

using nlohmann::json;
using Fields = std::vector<std::string>;

struct Row {
  std::string name;
  const char* pod_spec;
  Fields complaints;
};

const Row kReservedRows[] = {
    {"names of the user's own",
     R"({"initContainers": [{"name": "fetch"}], "containers": [{"name": "main"}],
                                    "volumes": [{"name": "data"}]})",
     {}},
    {"a main container",
     R"({"containers": [{"name": "main"}, {"name": "group-scheduling-init"}]})",
     {"spec.template.spec.containers[1].name"}},
    {"an init container",
     R"({"initContainers": [{"name": "group-scheduling-init", "command": ["sleep", "9"]}]})",
     {"spec.template.spec.initContainers[0].name"}},
    {"our waiter as a main container",
     R"({"containers": [{"name": "group-scheduling-init", "command": ["/muster-wait"],
         "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling"}]}]})",
     {"spec.template.spec.containers[0].name"}},
    {"a volume",
     R"({"volumes": [{"name": "data"}, {"name": "group-scheduling", "emptyDir": {}}]})",
     {"spec.template.spec.volumes[1].name"}},
    {"another volume at our path",
     R"({"containers": [{"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/mnt/group-scheduling"}]}]})",
     {"spec.template.spec.containers[0].volumeMounts[0].mountPath"}},
    {"another volume at our path of an init container",
     R"({"initContainers": [{"name": "x", "volumeMounts": [{"name": "data", "mountPath": "/mnt/group-scheduling/"}]}]})",
     {"spec.template.spec.initContainers[0].volumeMounts[0].mountPath"}},
    {"a volume below and beside our path",
     R"({"containers": [{"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/mnt/group-scheduling-data"},
                                                          {"name": "data", "mountPath": "/mnt"}]}]})",
     {}},
    {"templates of a shape that nobody knows",
     R"({"initContainers": 3, "containers": [null, 7], "volumes": {"a": 1}})",
     {}},
};

TEST_CASE("the barrier's names are muster's") {
  for (const Row& row : kReservedRows) {
    INFO(row.name);
    CHECK(complaints("group_scheduling_reserved_names", gang_job(row.pod_spec)) == row.complaints);
    CHECK(complaints("group_scheduling_reserved_names", gang_job(row.pod_spec), gang_job("{}")) == row.complaints);
    // What was there before can stay.
    CHECK(complaints("group_scheduling_reserved_names", gang_job(row.pod_spec), gang_job(row.pod_spec)).empty());
  }
}

TEST_CASE("a barrier stands in targets and in what a controller makes of them") {
  json job = gang_job("{}");
  job["spec"]["template"]["spec"] = {{"initContainers", {json::parse(kWaiterJson)}},
                                     {"volumes", {json::parse(R"({"name": "group-scheduling",
                                   "configMap": {"name": "train.job-group-scheduling", "optional": true}})")}}};
  CHECK(complaints("group_scheduling_reserved_names", job).empty());

  json stray = job;
  stray["metadata"].erase("annotations");
  CHECK(complaints("group_scheduling_reserved_names", stray) == Fields{"spec.template.spec.initContainers[0].name"});
  CHECK(complaints("group_scheduling_reserved_names", stray, job).empty());

  json child = stray;
  child["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                           {"kind", "JobSet"},
                                           {"name", "train"},
                                           {"uid", "u"},
                                           {"controller", true}}};
  CHECK(complaints("group_scheduling_reserved_names", child).empty());

  json volume_alone = stray;
  volume_alone["spec"]["template"]["spec"].erase("initContainers");
  CHECK(complaints("group_scheduling_reserved_names", volume_alone) == Fields{"spec.template.spec.volumes[0].name"});
}

TEST_CASE("the waiter is the last init container") {
  json job = gang_job("{}");
  json& list = job["spec"]["template"]["spec"]["initContainers"];
  list = {{{"name", "fetch"}}, json::parse(kWaiterJson)};
  const json last = job;
  CHECK(complaints("group_scheduling_position", last).empty());

  list.push_back({{"name", "late"}});
  const Fields misplaced = {"spec.template.spec.initContainers[1].name"};
  CHECK(complaints("group_scheduling_position", job) == misplaced);
  CHECK(complaints("group_scheduling_position", job, last) == misplaced);
  CHECK(complaints("group_scheduling_position", job, job).empty());
}

TEST_CASE("a new gang without its barrier is let through with a warning") {
  json job = gang_job("{}");
  REQUIRE(warnings("group_scheduling_position", job).size() == 1);
  CHECK(warnings("group_scheduling_position", job)[0].starts_with("spec.template has no start barrier"));
  CHECK(warnings("group_scheduling_position", job, job).empty());
  job["metadata"].erase("annotations");
  CHECK(warnings("group_scheduling_position", job).empty());
}

}  // namespace
}  // namespace muster::test::group_scheduling_template_test
