// Recorded lines are read whole: each key of what was recorded is one that a test of its set reads.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "test/support/vectors.h"

namespace vectors_read_test {

using nlohmann::json;

namespace {

struct RecordedSet {
  const char* name;
  std::vector<const char*> sources;  // below test/
  // Facts about what muster does not have. The list must shrink.
  std::set<std::string> unread{};
};

// Without the sets of features that muster does not have: admission_fair_sharing, provisioning, tas_assignment,
// tas_scheduler.
const RecordedSet kSets[] = {
    {"backoff", {"reconcilers/workload/workload_vectors_test.cpp", "scheduler/workload_order_test.cpp"}},
    {"config", {"api/config/configuration_vectors_test.cpp"}},
    // It says less than the round trip, which is compared.
    {"conversion", {"api/conversion/conversion_test.cpp"}, {"lossless"}},
    {"job_kinds",
     {"reconcilers/job/job_pass_vectors.h", "reconcilers/job/job_vectors.h", "validators/webhook_vectors.h"},
     // Slices of elastic jobs.
     {"customAnnotations"}},
    {"job_webhook", {"validators/webhook_vectors.h"}},
    {"job_workload", {"reconcilers/job/job_pass_vectors.h", "reconcilers/job/job_vectors.h"}},
    {"jobset_webhook", {"validators/jobset_vectors_test.cpp", "manifests/schema_test.cpp", "manifests/crd_test.cpp"}},
    {"pending_positions", {"explain/pending_workloads_vectors_test.cpp"}},
    {"pod_groups",
     {"reconcilers/pod/pod_groups_vectors_test.cpp", "validators/webhook_vectors.h",
      "validators/pod_webhook_vectors_test.cpp"}},
    {"pod_requests", {"state/pod_requests_test.cpp"}},
    {"quantity", {"api/meta/quantity_test.cpp"}},
    {"scheduler", {"scheduler/scheduler_vectors_test.cpp", "scheduler/recorded_cluster.h"}},
    {"selectors", {"api/meta/selectors_test.cpp"}},
    {"serving_kinds",
     {"reconcilers/serving/serving_kinds_vectors_test.cpp", "validators/webhook_vectors.h",
      "validators/pod_webhook_vectors_test.cpp"}},
    {"times", {"api/meta/time_test.cpp"}},
    {"validation", {"validators/queue_vectors_test.cpp"}},
    {"workload_names", {"jobs/workload_name_test.cpp", "reconcilers/jobset/jobset_vectors_test.cpp"}},
};

// Of what was recorded, and of its parts that are not compared as a whole.
void add_keys(const json& line, std::set<std::string>& keys) {
  const json& output = line.contains("output") ? line["output"] : line.at("expect");
  const auto add = [&](const json& object) {
    for (const auto& [key, value] : object.items()) keys.insert(key);
  };
  add(output);
  if (output.contains("final")) add(output["final"]);
  for (const json& cycle : output.value("cycles", json::array())) add(cycle);
}

}  // namespace

TEST_CASE("each key of a recorded output is read by a test of its set") {
  for (const RecordedSet& set : kSets) {
    std::string sources;
    for (const char* source : set.sources) sources += muster::test::read_source_file(std::string("test/") + source);
    std::set<std::string> keys;
    for (const json& line : muster::test::load_vectors(set.name)) add_keys(line, keys);
    for (const std::string& key : keys) {
      INFO(std::string(set.name), ": ", key);
      const bool is_read = sources.find('"' + key + '"') != std::string::npos;
      CHECK(is_read == !set.unread.contains(key));
    }
    for (const std::string& key : set.unread) CHECK(keys.contains(key));
  }
}

}  // namespace vectors_read_test
