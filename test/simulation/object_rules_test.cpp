// What of a Job can change when, by the simulated API server.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/api_server_fixture.h"
#include "test/simulation/manifests.h"

namespace object_rules_test {

using namespace muster;
using namespace muster::world;
using muster::test::ApiServerFixture;
using muster::test::job_key;
using muster::test::job_of;
using nlohmann::json;

TEST_CASE_FIXTURE(ApiServerFixture, "api server: what of a Job may change when") {
  const json suspended_condition = json::array({{{"type", "Suspended"}, {"status", "True"}}});
  const struct {
    const char* name;
    bool suspended;
    json status;
    json patch;
    bool allowed;
  } kRows[] = {
      {"parallelism always", false, json::object(), {{"spec", {{"parallelism", 5}}}}, true},
      {"completions never", true, json::object(), {{"spec", {{"completions", 5}}}}, false},
      {"completions together with parallelism",
       true,
       json::object(),
       {{"spec", {{"completions", 5}, {"parallelism", 5}}}},
       true},
      {"a template's annotation while it runs",
       false,
       json::object(),
       {{"spec", {{"template", {{"metadata", {{"annotations", {{"a", "b"}}}}}}}}}},
       false},
      {"a template's annotation before it first started",
       true,
       json::object(),
       {{"spec", {{"template", {{"metadata", {{"annotations", {{"a", "b"}}}}}}}}}},
       true},
      {"a template's nodeSelector in the act of resuming",
       true,
       json::object(),
       {{"spec", {{"suspend", false}, {"template", {{"spec", {{"nodeSelector", {{"a", "b"}}}}}}}}}},
       true},
      {"a template's annotation after a first run that is not suspended yet",
       true,
       {{"startTime", "2027-01-15T08:00:00Z"}},
       {{"spec", {{"template", {{"metadata", {{"annotations", {{"a", "b"}}}}}}}}}},
       false},
      {"a template's annotation after a first run that is suspended",
       true,
       {{"startTime", "2027-01-15T08:00:00Z"}, {"conditions", suspended_condition}},
       {{"spec", {{"template", {{"metadata", {{"annotations", {{"a", "b"}}}}}}}}}},
       true},
      {"a template's annotation while a pod is left",
       true,
       {{"startTime", "2027-01-15T08:00:00Z"}, {"conditions", suspended_condition}, {"active", 1}},
       {{"spec", {{"template", {{"metadata", {{"annotations", {{"a", "b"}}}}}}}}}},
       false},
      {"a template's containers never",
       true,
       json::object(),
       {{"spec", {{"template", {{"spec", {{"restartPolicy", "OnFailure"}}}}}}}},
       false},
  };
  int number = 0;
  for (const auto& row : kRows) {
    INFO(std::string(row.name));
    const std::string name = "job-" + std::to_string(++number);
    json manifest = job_of(2, name);
    manifest["spec"]["suspend"] = row.suspended;
    created(manifest);
    REQUIRE(server.patch_status(job_key(name), {{"status", row.status}}).done());
    const Answer answer = server.patch(job_key(name), row.patch);
    CHECK(answer.outcome == (row.allowed ? reconcilers::WriteOutcome::kDone : reconcilers::WriteOutcome::kRefused));
  }
}

TEST_CASE("api server: before 1.36 a Job that has started keeps its template until its startTime is cleared") {
  Timeline timeline{TimePoint{}};
  ApiServer server{timeline, {.resumed_jobs_may_change = false}};
  server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
  json manifest = job_of(2);
  manifest["spec"]["suspend"] = true;
  REQUIRE(server.create(manifest).done());
  const json conditions = json::array({{{"type", "Suspended"}, {"status", "True"}}});
  server.patch_status(job_key(), {{"status", {{"startTime", "2027-01-15T08:00:00Z"}, {"conditions", conditions}}}});
  const json patch = {{"spec", {{"template", {{"metadata", {{"annotations", {{"a", "b"}}}}}}}}}};
  CHECK(server.patch(job_key(), patch).outcome == reconcilers::WriteOutcome::kRefused);
  CHECK(server.patch_status(job_key(), {{"status", {{"startTime", nullptr}}}}).done());
  CHECK(server.patch(job_key(), patch).done());
}

TEST_CASE_FIXTURE(ApiServerFixture, "api server: which conditions a Job may get") {
  const std::string start = "2027-01-15T08:00:00Z";
  auto conditions = [](std::initializer_list<const char*> types) {
    json list = json::array();
    for (const char* type : types) list.push_back({{"type", type}, {"status", "True"}});
    return list;
  };
  const struct {
    const char* name;
    json status;
    bool allowed;
  } kRows[] = {
      {"FailureTarget by anybody", {{"conditions", conditions({"FailureTarget"})}}, true},
      {"Failed without FailureTarget", {{"startTime", start}, {"conditions", conditions({"Failed"})}}, false},
      {"Failed without a start", {{"conditions", conditions({"FailureTarget", "Failed"})}}, false},
      {"Failed in order", {{"startTime", start}, {"conditions", conditions({"FailureTarget", "Failed"})}}, true},
      {"Failed with pods that run",
       {{"startTime", start}, {"active", 1}, {"conditions", conditions({"FailureTarget", "Failed"})}},
       false},
      {"Complete without SuccessCriteriaMet", {{"startTime", start}, {"conditions", conditions({"Complete"})}}, false},
  };
  int number = 0;
  for (const auto& row : kRows) {
    INFO(std::string(row.name));
    const std::string name = "job-" + std::to_string(++number);
    created(job_of(2, name));
    const Answer answer = server.patch_status(job_key(name), {{"status", row.status}});
    CHECK(answer.outcome == (row.allowed ? reconcilers::WriteOutcome::kDone : reconcilers::WriteOutcome::kRefused));
  }
  CHECK(server.patch_status(job_key("job-1"), {{"status", {{"conditions", nullptr}}}}).outcome ==
        reconcilers::WriteOutcome::kRefused);
}

}  // namespace object_rules_test
