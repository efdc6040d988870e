// manifests/samples/flavor-fallback.yaml, as docs/flavor-fallback.md shows it: its three stories with their real
// timeouts, in virtual time.
#include "api/codec/yaml.h"
#include "test/simulation/flavors/world.h"
#include "test/support/vectors.h"

namespace flavor_samples_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr const char* kCapacity = "example.com/capacity";

std::vector<json> documents_of(const std::string& text) {
  auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  std::vector<json> values;
  for (YamlDocument& document : *documents) values.push_back(std::move(document.value));
  return values;
}

// The sample, and a LocalQueue of the same name for each of its ClusterQueues.
std::vector<json> sample() {
  std::vector<json> objects = documents_of(read_source_file("manifests/samples/flavor-fallback.yaml"));
  std::vector<json> local_queues;
  for (const json& object : objects) {
    if (object["kind"] != kClusterQueues.kind) continue;
    json local = queues(1)[2];
    local["metadata"]["name"] = object["metadata"]["name"];
    local["spec"]["clusterQueue"] = object["metadata"]["name"];
    local_queues.push_back(local);
  }
  REQUIRE(local_queues.size() == 3);
  objects.insert(objects.end(), local_queues.begin(), local_queues.end());
  return objects;
}

class SampleWorld : public FlavorWorld {
 public:
  SampleWorld() : FlavorWorld(sample()) {}

  void submit_to(const char* queue, const std::string& name, int cpus = 1, int run_seconds = 60) {
    json container = queued_job(1, name)["spec"]["template"]["spec"]["containers"][0];
    container["resources"]["requests"]["cpu"] = std::to_string(cpus);
    submit(name, run_seconds,
           {{"metadata", {{"labels", {{kQueueNameLabel, queue}}}}},
            {"spec", {{"template", {{"spec", {{"containers", json::array({container})}}}}}}}});
  }
  void sold_out_of(std::initializer_list<const char*> capacities) {
    for (const char* capacity : capacities) nodes().sell_out(kCapacity, capacity);
  }
  // The capacity on which its pods run; empty: they do not.
  std::string runs_where(const std::string& job) {
    for (const json& pod : list(kPods)) {
      if (pod["metadata"]["name"].get<std::string>().starts_with(job + "-") &&
          string_at(pod, {"status", "phase"}) == "Running")
        return std::string(string_at(pod, {"spec", "nodeSelector", kCapacity}));
    }
    return "";
  }
  void check_end() {
    CHECK(settle());
    CHECK(violations().empty());
  }
};

}  // namespace

TEST_CASE("flavor fallback, sample: the reservation is full, no spot machine comes for 15 minutes, on-demand has one") {
  SampleWorld world;
  world.sold_out_of({"spot"});
  world.submit_to("reservation-spot-on-demand", "first", 100, 7200);
  REQUIRE(world.run_until([&] { return world.runs_where("first") == "reservation"; }, 1min));
  world.submit_to("reservation-spot-on-demand", "late");
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot"}; }, 1min));
  CHECK_FALSE(world.run_until([&] { return world.tried("late").size() > 1; }, 14min));
  CHECK(world.run_until([&] { return world.runs_where("late") == "on-demand"; }, 2min));
  CHECK(world.tried("late") == Names{"spot", "on-demand"});
  CHECK(world.run_until([&] { return world.complete("late"); }, 5min));
  world.check_end();
}

TEST_CASE("flavor fallback, sample: three flavors for five minutes each, over and over") {
  SampleWorld world;
  world.sold_out_of({"a", "b", "c"});
  world.submit_to("one-after-the-other", "late");
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.tried("late").size() == 3; }, 12min));
  CHECK(world.tried("late") == Names{"flavor-a", "flavor-b", "flavor-c"});
  CHECK_FALSE(world.run_until([&] { return world.tried("late").size() > 3; }, 4min));
  REQUIRE(world.run_until([&] { return world.tried("late").size() == 5; }, 10min));
  world.nodes().put_on_sale(kCapacity, "b");
  CHECK(world.run_until([&] { return world.complete("late"); }, 10min));
  CHECK(world.tried("late") == Names{"flavor-a", "flavor-b", "flavor-c", "flavor-a", "flavor-b"});
  world.check_end();
}

TEST_CASE("flavor fallback, sample: the check of spot machines is rejected and the Job runs on demand") {
  SampleWorld world;
  require_done(
      world.patch_status({&kAdmissionChecks, "", "spot-machines"},
                         {{"status",
                           {{"conditions", json::array({{{"type", "Active"},
                                                         {"status", "True"},
                                                         {"reason", "Active"},
                                                         {"message", ""},
                                                         {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}}}}));
  world.submit_to("checked-spot", "late");
  INFO(world.report());
  REQUIRE(world.run_until(
      [&] {
        return array_at(world.workload("late"), {"status", "admissionChecks"}).size() == 1;
      },
      1min));
  json checks = world.workload("late")["status"]["admissionChecks"];
  CHECK(checks[0]["name"] == "spot-machines");
  checks[0]["state"] = "Rejected";
  world.patch_status({&kWorkloads, "default", world.read("late")->meta.name},
                     {{"status", {{"admissionChecks", checks}}}});
  CHECK(world.run_until([&] { return world.runs_where("late") == "on-demand"; }, 2min));
  CHECK(world.tried("late") == Names{"spot", "on-demand"});
  CHECK(world.read("late")->active);
  CHECK(world.run_until([&] { return world.complete("late"); }, 5min));
  world.check_end();
}

// The page leaves out the quotas, as [...].
TEST_CASE("flavor fallback, sample: the page shows the first ClusterQueue of the file") {
  const std::string page = read_source_file("docs/flavor-fallback.md");
  const size_t begin = page.find("```yaml\n") + 8;
  json shown = documents_of(page.substr(begin, page.find("```", begin) - begin)).at(0);
  json queue;
  for (const json& object : documents_of(read_source_file("manifests/samples/flavor-fallback.yaml"))) {
    if (object["kind"] == kClusterQueues.kind && queue.is_null()) queue = object;
  }
  CHECK(shown["spec"]["resourceGroups"] == json::array({"..."}));
  shown["spec"].erase("resourceGroups");
  queue["spec"].erase("resourceGroups");
  CHECK(shown == queue);
}

}  // namespace flavor_samples_test
