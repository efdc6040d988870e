// The simulated Job controller, garbage collector, scheduler and kubelet, without muster.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "api/pod.h"
#include "test/simulation/controllers_fixture.h"
#include "test/simulation/manifests.h"
#include "test/world/index_set.h"

namespace controllers_test {

using namespace muster;
using namespace muster::world;
using muster::test::Cluster;
using muster::test::job_key;
using muster::test::job_of;
using muster::test::with_spec;
using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

json annotated(json job, std::string_view key, const std::string& value) {
  job["spec"]["template"]["metadata"]["annotations"][std::string(key)] = value;
  return job;
}

}  // namespace

TEST_CASE("index set: ranges as batch/v1 writes them") {
  for (const char* text : {"", "0", "0,1", "0-2", "1,3-5,7", "0-2,4,6-9"}) {
    INFO(std::string(text));
    CHECK(format_indexes(parse_indexes(text)) == text);
  }
  CHECK(parse_indexes("1,3-5") == std::set<int64_t>{1, 3, 4, 5});
}

TEST_CASE("job controller: an indexed Job gets one pod per index and completes") {
  Cluster cluster;
  cluster.create(job_of(3));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 3; }, minutes(1)));
  cluster.run(seconds(1));
  CHECK(cluster.count("active") == 3);
  CHECK(cluster.count("ready") == 3);
  std::set<std::string> names, indexes;
  for (const json& pod : cluster.pods()) {
    names.insert(std::string(string_at(pod, {"metadata", "name"})).substr(0, 8));
    indexes.insert(std::string(label(pod, "batch.kubernetes.io/job-completion-index").value_or("")));
    CHECK(label(pod, "batch.kubernetes.io/controller-uid") ==
          string_at(*cluster.server.get(job_key()), {"metadata", "uid"}));
    CHECK(annotation(pod, "batch.kubernetes.io/job-completion-index").has_value());
  }
  CHECK(names == std::set<std::string>{"train-0-", "train-1-", "train-2-"});
  CHECK(indexes == std::set<std::string>{"0", "1", "2"});
  REQUIRE(cluster.run_until([&] { return cluster.has("Complete"); }, minutes(3)));
  CHECK(cluster.count("succeeded") == 3);
  CHECK(cluster.count("active") == 0);
  CHECK(string_at(*cluster.server.get(job_key()), {"status", "completedIndexes"}) == "0-2");
  cluster.run(seconds(10));
  CHECK(cluster.pods().size() == 3);
  for (const json& pod : cluster.pods()) CHECK_FALSE(find_path(pod, {"metadata", "finalizers"}));
}

TEST_CASE("job controller: never more pods at once than parallelism says") {
  Cluster cluster;
  cluster.create(with_spec(job_of(2), {{"completions", 5}}));
  int most = 0;
  REQUIRE(cluster.run_until(
      [&] {
        most = std::max<int>(most, static_cast<int>(cluster.count("active")));
        return cluster.has("Complete");
      },
      minutes(10)));
  CHECK(most == 2);
  CHECK(cluster.count("succeeded") == 5);
}

TEST_CASE("job controller: parallelism goes up and down while it runs") {
  Cluster cluster;
  cluster.create(annotated(with_spec(job_of(3), {{"completions", 9}}), kRunSeconds, "3600"));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 3; }, minutes(1)));
  cluster.server.patch(job_key(), {{"spec", {{"parallelism", 1}}}});
  REQUIRE(cluster.run_until([&] { return cluster.pods().size() == 1; }, minutes(1)));
  CHECK(string_at(cluster.pods().front(), {"metadata", "name"}).starts_with("train-0-"));
  cluster.server.patch(job_key(), {{"spec", {{"parallelism", 4}}}});
  CHECK(cluster.run_until([&] { return cluster.running() == 4; }, minutes(5)));
}

TEST_CASE("job controller: a suspended Job has no pods and no failures and a new start when it resumes") {
  Cluster cluster;
  cluster.create(annotated(job_of(2), kRunSeconds, "600"));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
  const std::string first(string_at(*cluster.server.get(job_key()), {"status", "startTime"}));
  cluster.server.patch(job_key(), {{"spec", {{"suspend", true}}}});
  REQUIRE(cluster.run_until([&] { return cluster.pods().empty(); }, minutes(1)));
  cluster.run(minutes(1));
  CHECK(cluster.has("Suspended"));
  CHECK(cluster.count("active") == 0);
  CHECK(cluster.count("failed") == 0);
  cluster.server.patch(job_key(), {{"spec", {{"suspend", false}}}});
  REQUIRE(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
  CHECK(cluster.condition("Suspended").status == "False");
  CHECK(string_at(*cluster.server.get(job_key()), {"status", "startTime"}) > first);
}

TEST_CASE("job controller: how Jobs fail") {
  const struct {
    const char* name;
    json spec;
    const char* exit_code;
    const char* reason;
    int64_t failed;
  } kRows[] = {
      {"the first failure is too much at backoffLimit 0", {{"backoffLimit", 0}}, "1", "BackoffLimitExceeded", 1},
      {"three failures are too many at 2", {{"backoffLimit", 2}}, "1", "BackoffLimitExceeded", 3},
      {"a restart in place is a failure too",
       {{"backoffLimit", 0}, {"template", {{"spec", {{"restartPolicy", "OnFailure"}}}}}},
       "1",
       "BackoffLimitExceeded",
       1},
      {"time is up", {{"activeDeadlineSeconds", 20}}, "0", "DeadlineExceeded", 1},
  };
  for (const auto& row : kRows) {
    INFO(std::string(row.name));
    Cluster cluster;
    cluster.create(annotated(with_spec(job_of(1), row.spec), kExitCode, row.exit_code));
    REQUIRE(cluster.run_until([&] { return cluster.has("Failed"); }, minutes(30)));
    CHECK(cluster.condition("Failed").reason == row.reason);
    CHECK(cluster.condition("FailureTarget").reason == row.reason);
    cluster.run(minutes(1));
    CHECK(cluster.running() == 0);
    CHECK(cluster.count("active") == 0);
    CHECK(cluster.count("failed") <= row.failed);
  }
}

TEST_CASE("job controller: a failed pod is replaced later each time") {
  Cluster cluster;
  cluster.create(annotated(annotated(with_spec(job_of(1), {{"backoffLimit", 9}}), kExitCode, "1"), kRunSeconds, "1"));
  std::vector<Duration> created;
  size_t seen = 0;
  cluster.server.on_change([&](const Change& change) {
    if (*change.type == kPods && change.before == nullptr) ++seen, created.push_back(cluster.timeline.elapsed());
  });
  REQUIRE(cluster.run_until([&] { return seen == 4; }, minutes(10)));
  CHECK(created[1] - created[0] >= seconds(10));
  CHECK(created[2] - created[1] >= seconds(20));
  CHECK(created[3] - created[2] >= seconds(40));
}

TEST_CASE("job controller: a FailureTarget from outside ends the Job with that reason") {
  Cluster cluster;
  cluster.create(annotated(job_of(2), kRunSeconds, "600"));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
  json conditions = (*cluster.server.get(job_key()))["status"].value("conditions", json::array());
  conditions.push_back({{"type", "FailureTarget"}, {"status", "True"}, {"reason", "GroupSchedulingTimeout"}});
  REQUIRE(cluster.server.patch_status(job_key(), {{"status", {{"conditions", conditions}}}}).done());
  REQUIRE(cluster.run_until([&] { return cluster.has("Failed"); }, minutes(1)));
  CHECK(cluster.condition("Failed").reason == "GroupSchedulingTimeout");
  CHECK(cluster.running() == 0);
}

TEST_CASE("job controller: somebody else's Job is left alone") {
  Cluster cluster;
  cluster.create(with_spec(job_of(2), {{"managedBy", "kueue.x-k8s.io/multikueue"}}));
  cluster.run(minutes(1));
  CHECK(cluster.pods().empty());
}

TEST_CASE("job controller: a deleted pod is replaced and counted as failed") {
  Cluster cluster;
  cluster.create(annotated(job_of(2), kRunSeconds, "600"));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
  const std::string victim(string_at(cluster.pods().front(), {"metadata", "name"}));
  cluster.server.remove({&kPods, "default", victim});
  REQUIRE(cluster.run_until([&] { return cluster.server.get({&kPods, "default", victim}) == nullptr; }, seconds(10)));
  CHECK(cluster.count("failed") == 1);
  CHECK(cluster.running() == 1);
  CHECK(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
}

TEST_CASE("garbage collector: dependents follow their owner in the background") {
  Cluster cluster;
  cluster.create(annotated(job_of(2), kRunSeconds, "600"));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
  cluster.server.remove(job_key());
  CHECK(cluster.server.get(job_key()) == nullptr);
  CHECK(cluster.pods().size() == 2);
  CHECK(cluster.run_until([&] { return cluster.pods().empty(); }, minutes(1)));
}

TEST_CASE("garbage collector: a foreground deletion waits for the dependents that block it") {
  Cluster cluster;
  cluster.create(annotated(job_of(2), kRunSeconds, "600"));
  REQUIRE(cluster.run_until([&] { return cluster.running() == 2; }, minutes(1)));
  cluster.server.remove(job_key(), {.propagation = reconcilers::Propagation::kForeground});
  REQUIRE(cluster.server.get(job_key()) != nullptr);
  bool job_went_first = false;
  REQUIRE(cluster.run_until(
      [&] {
        job_went_first |= cluster.server.get(job_key()) == nullptr && !cluster.pods().empty();
        return cluster.server.get(job_key()) == nullptr;
      },
      minutes(1)));
  CHECK_FALSE(job_went_first);
  CHECK(cluster.pods().empty());
}

TEST_CASE("garbage collector: what is created for an owner that has gone goes too") {
  Cluster cluster;
  auto owned_by = [](const std::string& uid, const char* name) {
    return json{{"apiVersion", "v1"},
                {"kind", "ConfigMap"},
                {"metadata",
                 {{"name", name},
                  {"namespace", "default"},
                  {"ownerReferences",
                   json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "train"}, {"uid", uid}}})}}}};
  };
  cluster.create(with_spec(job_of(1), {{"suspend", true}}));
  const std::string uid(string_at(*cluster.server.get(job_key()), {"metadata", "uid"}));
  cluster.create(owned_by(uid, "of-the-living"));
  cluster.create(owned_by("an earlier one", "of-a-namesake"));
  cluster.run(seconds(10));
  CHECK(cluster.server.get({&kConfigMaps, "default", "of-the-living"}) != nullptr);
  CHECK(cluster.server.get({&kConfigMaps, "default", "of-a-namesake"}) == nullptr);
}

TEST_CASE("nodes: a pod without room waits until there is some") {
  Cluster cluster({.nodes = 1, .pods_per_node = 2});
  cluster.create(job_of(3));
  cluster.run(seconds(20));
  CHECK(cluster.running() == 2);
  int unschedulable = 0;
  for (const json& pod : cluster.pods()) {
    if (!string_at(pod, {"spec", "nodeName"}).empty()) continue;
    ++unschedulable;
    const Conditions conditions = read_conditions(array_at(pod, {"status", "conditions"}));
    REQUIRE(find_condition(conditions, "PodScheduled") != nullptr);
    CHECK(find_condition(conditions, "PodScheduled")->reason == "Unschedulable");
  }
  CHECK(unschedulable == 1);
  cluster.nodes.set_pods_per_node(3);
  CHECK(cluster.run_until([&] { return cluster.running() == 3; }, seconds(10)));
  cluster.nodes.set_pods_per_node(1);
  cluster.create(job_of(1, "next"));
  cluster.run(seconds(5));
  CHECK(cluster.running() == 3);
  CHECK(cluster.run_until([&] { return cluster.has("Complete"); }, minutes(5)));
  CHECK(cluster.run_until([&] { return cluster.running() == 1; }, minutes(1)));
}

TEST_CASE("nodes: a pod that is held back starts when it is released") {
  for (const HoldAt stage : {HoldAt::kScheduling, HoldAt::kImagePull}) {
    Cluster cluster;
    cluster.nodes.hold("train-1-", stage);
    cluster.create(job_of(2));
    cluster.run(seconds(30));
    CHECK(cluster.running() == 1);
    cluster.nodes.release("train-1-");
    CHECK(cluster.run_until([&] { return cluster.running() == 2; }, seconds(10)));
  }
}

TEST_CASE("kubelet: a failed container is restarted in place or fails its pod as restartPolicy says") {
  Cluster cluster;
  cluster.nodes.decide_fates([tries = 0](const json&) mutable { return Fate{.exit_code = ++tries > 2 ? 0 : 1}; });
  cluster.create(
      with_spec(job_of(1), {{"backoffLimit", 9}, {"template", {{"spec", {{"restartPolicy", "OnFailure"}}}}}}));
  REQUIRE(cluster.run_until([&] { return cluster.has("Complete"); }, minutes(10)));
  CHECK(cluster.count("failed") == 0);
  CHECK(cluster.pods().size() == 1);
  CHECK(int_at(cluster.pods().front()["status"]["containerStatuses"][0], {"restartCount"}) == 2);
}

TEST_CASE("kubelet: init containers run one after the other and sidecars beside them") {
  Cluster cluster;
  json job = annotated(job_of(1), kInitSeconds, "10");
  job["spec"]["template"]["spec"]["initContainers"] =
      json::array({{{"name", "first"}}, {{"name", "sidecar"}, {"restartPolicy", "Always"}}, {{"name", "second"}}});
  cluster.create(job);
  auto runs = [&](int index) {
    return !cluster.pods().empty() &&
           find_path(array_at(cluster.pods().front(), {"status", "initContainerStatuses"}).at(index),
                     {"state", "running"}) != nullptr;
  };
  auto has_statuses = [&] {
    return !cluster.pods().empty() && !array_at(cluster.pods().front(), {"status", "initContainerStatuses"}).empty();
  };
  REQUIRE(cluster.run_until(has_statuses, minutes(1)));
  REQUIRE(cluster.run_until([&] { return runs(0); }, minutes(1)));
  CHECK_FALSE(runs(2));
  REQUIRE(cluster.run_until([&] { return runs(2); }, minutes(1)));
  CHECK_FALSE(runs(0));
  CHECK(runs(1));
  CHECK(cluster.running() == 0);
  REQUIRE(cluster.run_until([&] { return cluster.running() == 1; }, minutes(1)));
  CHECK(runs(1));
}

}  // namespace controllers_test
