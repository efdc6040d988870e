#include "jobs/jobset/startup_gates.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace startup_gates_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("startup gates: what a replicated job waits for is said of exactly those that may not start") {
  struct Row {
    std::string name;
    const char* spec;    // beside replicatedJobs
    const char* depend;  // of the third
    const char* status;
    const char* until;  // of the third
  };
  const Row rows[] = {
      {"nothing", "{}", "[]", "{}", ""},
      {"a dependency that has no status yet", "{}", R"([{"name": "a", "status": "Ready"}])", "{}", "until a is ready"},
      {"one that is ready", "{}", R"([{"name": "a", "status": "Ready"}])",
       R"({"replicatedJobsStatus": [{"name": "a", "ready": 1}]})", ""},
      {"one that is ready and must be complete", "{}", R"([{"name": "a", "status": "Complete"}])",
       R"({"replicatedJobsStatus": [{"name": "a", "ready": 1}]})", "until a is complete"},
      {"the second of two", "{}", R"([{"name": "a", "status": "Complete"}, {"name": "b", "status": "Ready"}])",
       R"({"replicatedJobsStatus": [{"name": "a", "succeeded": 1}]})", "until b is ready"},
      {"in order", R"({"startupPolicy": {"startupPolicyOrder": "InOrder"}})", "[]",
       R"({"replicatedJobsStatus": [{"name": "a", "ready": 1}]})", "until b has started"},
      {"in order, all before have started", R"({"startupPolicy": {"startupPolicyOrder": "InOrder"}})", "[]",
       R"({"replicatedJobsStatus": [{"name": "a", "ready": 1}, {"name": "b", "failed": 1}]})", ""},
      {"in order, and over", R"({"startupPolicy": {"startupPolicyOrder": "InOrder"}})", "[]",
       R"({"conditions": [{"type": "StartupPolicyCompleted", "status": "True"}]})", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    json object = {{"metadata", {{"name", "x"}, {"namespace", "n"}}}, {"spec", json::parse(row.spec)}};
    json list = json::array();
    for (const char* name : {"a", "b", "c"}) list.push_back({{"name", name}, {"replicas", 1}});
    list[2]["dependsOn"] = json::parse(row.depend);
    object["spec"]["replicatedJobs"] = list;
    object["status"] = json::parse(row.status);
    const JobSetPtr jobset = read_jobset(object);
    CHECK(closed_until(*jobset, 2) == row.until);
    CHECK(startup_gates(*jobset, jobset->status.replicated_jobs, true).open[2] == (row.until == std::string()));
  }
}

}  // namespace startup_gates_test
