// What a user cannot list must not make quota look free.
#include "forecast/partial_view.h"

#include "test/forecast/scenarios.h"
#include "test/simulation/queues.h"

namespace partial_view_test {

using namespace muster;
using namespace muster::test;
using nlohmann::json;

namespace {

// A ClusterQueue with 4 cpu whose status says how much of it is reserved.
std::vector<json> queues_with(const std::string& reserved, int pending = 0) {
  std::vector<json> objects = queues(4);
  for (json& object : objects) {
    if (object["kind"] != "ClusterQueue") continue;
    object["status"] = {
        {"pendingWorkloads", pending},
        {"flavorsReservation", {{{"name", "default"}, {"resources", {{{"name", "cpu"}, {"total", reserved}}}}}}}};
  }
  return objects;
}

json workload(const std::string& ns, const std::string& name, const std::string& queue, const std::string& cpu) {
  json object = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {creationTimestamp: "2026-03-01T08:00:00Z"}
spec:
  maximumExecutionTimeSeconds: 600
  podSets:
  - {name: main, count: 1, template: {spec: {containers: [{name: c, resources: {requests: {}}}]}}}
status:
  admission:
    clusterQueue: cluster
    podSetAssignments: [{name: main, count: 1, flavors: {cpu: default}, resourceUsage: {}}]
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
  - {type: Admitted, status: "True", reason: Admitted, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
)")
                    .front();
  object["metadata"]["name"] = name;
  object["metadata"]["namespace"] = ns;
  object["spec"]["queueName"] = queue;
  object["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu;
  object["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] = cpu;
  return object;
}

struct Seen {
  forecast::Scenario scenario;
  forecast::History history;
  std::vector<std::string> notes;
  double start_of(const std::string& job) const { return seconds(history.jobs[number_of(scenario, job)].first_start); }
};

Seen see(const std::vector<json>& objects) {
  std::vector<forecast::SourceObject> all = sources(objects);
  std::vector<std::string> notes = forecast::complete_partial_view(all);
  auto read = forecast::read_scenario(all, all_kinds());
  const std::string why = read ? "" : read.error().message;
  INFO(why);
  REQUIRE(read.ok());
  forecast::History history = forecast::run(read->scenario);
  return {std::move(read->scenario), std::move(history), std::move(notes)};
}

}  // namespace

TEST_CASE("partial view: what a ClusterQueue counts and nobody shows is held") {
  std::vector<json> objects = queues_with("3", 2);
  objects.push_back(workload("default", "mine", "team", "1"));
  objects.push_back(queued_job(2, "asked"));
  const Seen seen = see(objects);
  // One cpu is free; "mine" ends after ten minutes.
  CHECK(seen.start_of("asked") == 600);
  REQUIRE(seen.notes.size() == 2);
  CHECK(seen.notes[0].find("ClusterQueue cluster: 2 of cpu on default.") != std::string::npos);
  CHECK(seen.notes[1].find("2 Workload(s)") == 0);
}

TEST_CASE("partial view: the others are not preempted by priority, and end after --run-time") {
  std::vector<json> objects = queues_with("4");
  for (json& object : objects) {
    if (object["kind"] == "ClusterQueue") object["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
  }
  objects.push_back(
      from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, "
                "value: 1000000}")
          .front());
  json asked = queued_job(1, "asked");
  asked["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high";
  objects.push_back(asked);
  const Seen seen = see(objects);
  CHECK(seen.history.preemptions.empty());
  CHECK(seen.start_of("asked") == 3600);
}

TEST_CASE("partial view: a holder whose LocalQueue cannot be listed keeps its quota") {
  std::vector<json> objects = queues_with("3");
  objects.push_back(workload("elsewhere", "theirs", "hidden", "3"));
  objects.push_back(queued_job(2, "asked"));
  const Seen seen = see(objects);
  CHECK(seen.start_of("asked") == 600);
  CHECK(seen.notes.empty());
}

TEST_CASE("partial view: where everything is seen, nothing is added") {
  std::vector<json> objects = queues_with("1");
  objects.push_back(workload("default", "mine", "team", "1"));
  std::vector<forecast::SourceObject> all = sources(objects);
  CHECK(forecast::complete_partial_view(all).empty());
  CHECK(all.size() == objects.size());
}

TEST_CASE("what-if: wrong annotations of others in a cluster are noted, and stop nobody") {
  std::vector<json> objects = queues_with("0");
  json theirs = workload("default", "mine", "team", "4");
  annotate(theirs, "run-time", "for ever");
  json arriving = workload("default", "late", "team", "0");
  annotate(arriving, "arrival", "10m");
  annotate(objects.front(), "startup", "-5s");
  objects.insert(objects.end(), {theirs, arriving, queued_job(1, "asked")});
  std::vector<forecast::SourceObject> all = sources(objects);
  CHECK_FALSE(forecast::read_scenario(all, all_kinds()).ok());
  for (forecast::SourceObject& source : all) source.is_of_others = true;
  const auto read = forecast::read_scenario(all, all_kinds());
  const std::string why = read ? "" : read.error().message;
  INFO(why);
  REQUIRE(read.ok());
  CHECK(std::find(read->notes.begin(), read->notes.end(),
                  "3 object(s) of the cluster have annotations of the simulation that are wrong and are left out") !=
        read->notes.end());
}

}  // namespace partial_view_test
