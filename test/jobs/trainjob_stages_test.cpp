// A TrainJob whose runtime has initializers starts in stages, like the JobSet that the trainer makes of it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/yaml.h"
#include "jobs/job_kind.h"
#include "jobs/queued_job.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"

namespace trainjob_stages_test {

using namespace muster;
using nlohmann::json;

constexpr const char* kInitialized = R"(
spec:
  template:
    spec:
      replicatedJobs:
      - {name: dataset, template: {spec: {template: {spec: {}}}}}
      - {name: model, template: {spec: {template: {spec: {}}}}}
      - name: node
        replicas: 2
        dependsOn: [{name: dataset, status: Complete}, {name: model, status: Complete}]
        template: {spec: {template: {spec: {}}}}
)";
constexpr const char* kInOrder = R"(
spec:
  template:
    spec:
      startupPolicy: {startupPolicyOrder: InOrder}
      replicatedJobs:
      - {name: dataset, template: {spec: {template: {spec: {}}}}}
      - {name: node, template: {spec: {template: {spec: {}}}}}
)";

json yaml(const char* text) {
  return read_yaml(text)->at(0).value;
}

TEST_CASE("TrainJob: what waits for an initializer is not late") {
  struct Row {
    std::string name;
    const char* runtime;
    const char* status;
    bool ready, more_wait, next_starts;
  };
  const Row rows[] = {
      {"nothing has started", kInitialized, "[]", false, true, false},
      {"one initializer has", kInitialized, "[{name: dataset, ready: 1}]", false, true, false},
      {"the initializers run", kInitialized, "[{name: dataset, ready: 1}, {name: model, ready: 1}]", true, true, true},
      {"one has ended", kInitialized, "[{name: dataset, succeeded: 1}, {name: model, ready: 1}]", true, true, true},
      {"the nodes start", kInitialized, "[{name: dataset, succeeded: 1}, {name: model, succeeded: 1}]", false, false,
       true},
      {"one node is missing", kInitialized,
       "[{name: dataset, succeeded: 1}, {name: model, succeeded: 1}, {name: node, ready: 1}]", false, false, true},
      {"all run", kInitialized, "[{name: dataset, succeeded: 1}, {name: model, succeeded: 1}, {name: node, ready: 2}]",
       true, false, true},
      {"a sum is not enough", kInitialized,
       "[{name: dataset, succeeded: 1}, {name: model, succeeded: 1}, {name: other, ready: 2}]", false, false, true},
      {"in order: the first runs, and opens the gate", kInOrder, "[{name: dataset, ready: 1}]", false, false, true},
      {"in order: the first starts", kInOrder, "[]", false, true, false},
  };
  const jobs::JobKind& kind = *jobs::find_job_kind("trainer.kubeflow.org", "TrainJob");
  for (const Row& row : rows) {
    INFO(row.name);
    json object = yaml(
        "{metadata: {name: tune}, spec: {runtimeRef: {apiGroup: trainer.kubeflow.org, kind: "
        "TrainingRuntime, name: rt}}}");
    object["status"]["jobsStatus"] = yaml(row.status);
    const TypedObject stored = read_described_job(*find_described_kind("trainer.kubeflow.org", "TrainJob"), object);
    CHECK_FALSE(kind.pods_ready(stored));
    const json runtime = yaml(row.runtime);
    const jobs::QueuedJob job(kind, stored, [&](const ConsultedKind&, std::string_view) { return &runtime; });
    CHECK(job.pods_ready() == row.ready);
    CHECK(job.stages().more_wait == row.more_wait);
    CHECK(job.stages().next_starts == row.next_starts);
  }
}

}  // namespace trainjob_stages_test
