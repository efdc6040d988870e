#include "jobs/queued_job.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace queued_job_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("pods that are too many to count are as many as can be") {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  struct Row {
    int replicas;
    int parallelism;
    int32_t count;
  };
  // The first product is 2 in 32 bits.
  for (const Row& row : {Row{3, 1431655766, kMost}, Row{65536, 65536, kMost}, Row{kMost, 1, kMost}, Row{2, 3, 6}}) {
    const TypedObject object = read_object(
        kJobSets,
        {{"metadata", {{"name", "train"}, {"uid", "u"}}},
         {"spec",
          {{"replicatedJobs", json::array({{{"name", "w"},
                                            {"replicas", row.replicas},
                                            {"template",
                                             {{"spec",
                                               {{"parallelism", row.parallelism},
                                                {"template", {{"spec", {{"containers", json::array()}}}}}}}}}}})}}},
         {"status", {{"replicatedJobsStatus", json::array({{{"name", "w"}, {"succeeded", row.replicas}}})}}}});
    const QueuedJob job(jobset, object);
    REQUIRE(job.pod_set_shapes({}).size() == 1);
    CHECK(job.pod_set_shapes({})[0].count == row.count);
    REQUIRE(job.reclaimable_pods().size() == 1);
    CHECK(job.reclaimable_pods()[0].count == row.count);
  }
}

TEST_CASE("a JobSet that can restart as a whole keeps the quota of its Jobs that have succeeded") {
  struct Row {
    const char* name;
    json failure_policy;
    json status;
    bool releases;
  };
  const json ignoring = {{"action", "RestartJobSetAndIgnoreMaxRestarts"}};
  const Row rows[] = {
      {"no policy: it fails", json(), json::object(), true},
      {"no restarts", {{"maxRestarts", 0}}, json::object(), true},
      {"restarts left", {{"maxRestarts", 3}}, {{"restarts", 2}, {"restartsCountTowardsMax", 2}}, false},
      {"none left", {{"maxRestarts", 3}}, {{"restarts", 3}, {"restartsCountTowardsMax", 3}}, true},
      {"a rule that counts none", {{"maxRestarts", 0}, {"rules", json::array({ignoring})}}, json::object(), false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    json object = {{"metadata", {{"name", "train"}, {"uid", "u"}}},
                   {"spec", {{"replicatedJobs", json::array({{{"name", "w"}, {"replicas", 3}}})}}},
                   {"status", row.status}};
    if (!row.failure_policy.is_null()) object["spec"]["failurePolicy"] = row.failure_policy;
    object["status"]["replicatedJobsStatus"] = json::array({{{"name", "w"}, {"succeeded", 2}}});
    const TypedObject typed = read_object(kJobSets, object);
    CHECK(QueuedJob(jobset, typed).reclaimable_pods().empty() != row.releases);
  }
}

TEST_CASE("indexes beyond the completions of a Job, as a smaller elastic Job can list them, release no quota") {
  struct Row {
    const char* completed;
    int parallelism;
    int completions;
    int32_t released;
  };
  for (const Row& row : {Row{"1,3-5", 2, 2, 1}, Row{"1,3-5", 3, 3, 1}, Row{"1,3-5", 2, 4, 0}, Row{"3-5", 2, 2, 0},
                         Row{"0-1", 2, 2, 2}}) {
    INFO(row.completed, " of ", row.completions);
    const TypedObject object = read_object(kJobs, {{"metadata", {{"name", "train"}, {"uid", "u"}}},
                                                   {"spec",
                                                    {{"parallelism", row.parallelism},
                                                     {"completions", row.completions},
                                                     {"completionMode", "Indexed"},
                                                     {"template", {{"spec", {{"containers", json::array()}}}}}}},
                                                   {"status", {{"completedIndexes", row.completed}}}});
    const std::vector<ReclaimablePod> released = QueuedJob(batch_job, object).reclaimable_pods();
    CHECK((released.empty() ? 0 : released[0].count) == row.released);
  }
}

TEST_CASE("queued job: two specs have the same charged fields as the typed API reads them") {
  const json one = {{"containers", json::array({{{"name", "c"}, {"args", {"a\"}],", "\\"}}, {"image", "i"}}})},
                    {"initContainers", json::array({{{"name", "d"}, {"image", "i"}}})},
                    {"tolerations", json::array()}};
  const auto same = [](const json& a, const json& b) {
    return same_charged_fields(std::make_shared<const PodSpec>(a), std::make_shared<const PodSpec>(b));
  };
  const auto with = [&](const json& patch) {
    json changed = one;
    changed.merge_patch(patch);
    return changed;
  };
  CHECK(same(one, one));
  // What a start adds is beside them, before and after.
  CHECK(same(with({{"affinity", {{"containers", "x"}}}, {"nodeSelector", {{"initContainers", "[}"}}}}), one));
  CHECK(same(with({{"initContainers", json::array()}}), with({{"initContainers", nullptr}})));
  CHECK_FALSE(same(with({{"initContainers", nullptr}}), one));
  CHECK_FALSE(same(with({{"containers", json::array({{{"name", "c"}, {"args", {"b"}}, {"image", "i"}}})}}), one));
  // Another text, and nothing else.
  const json cpu = json::array({{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}});
  const json milli = json::array({{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1000m"}}}}}}});
  CHECK(same(with({{"containers", cpu}}), with({{"containers", milli}})));
  const json twice = json::array(
      {{{"name", "c"}, {"env", json::array({{{"name", "A"}, {"value", "1"}}, {{"name", "A"}, {"value", "2"}}})}}});
  const json last = json::array({{{"name", "c"}, {"env", json::array({{{"name", "A"}, {"value", "2"}}})}}});
  CHECK(same(with({{"containers", twice}}), with({{"containers", last}})));
  CHECK_FALSE(same(with({{"containers", last}}), with({{"containers", twice}})));
  CHECK(same(json::object(), json::object()));
}

}  // namespace queued_job_test
