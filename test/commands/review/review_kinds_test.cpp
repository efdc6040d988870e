#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/review/review.h"
#include "test/support/temporary_folder.h"

namespace review_kinds_test {

using namespace muster;
using namespace muster::commands;
using muster::test::TemporaryFile;

namespace {

struct Ran {
  int code;
  std::string out, err;
};

Ran run(const std::string& input, ReviewOptions options) {
  options.sources.files = {"-"};
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = review(options, {in, out, err});
  return {code, out.str(), err.str()};
}

constexpr const char* kTram = R"(
apiVersion: config.muster.batch/v1alpha1
kind: JobKind
framework: example.com/tram
group: example.com
version: v1
kindName: Tram
resource: trams
suspend: spec.suspend
podSets:
- {name: engine, path: spec.engine}
- {each: spec.cars, namePath: name, count: [number]}
active: {path: status.running, nonzero: true}
ready: {condition: Ready}
ends:
- {condition: Arrived, success: true}
)";

const std::string kPod =
    "{spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 500m}, limits: {memory: 1Gi}}}]}}";
const std::string kObject = R"(
apiVersion: example.com/v1
kind: Tram
metadata: {name: five, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  engine: {template: )" + kPod +
                            R"(}
  cars: [{name: Front, number: 4, template: )" +
                            kPod + "}]\n";

}  // namespace

TEST_CASE("review --kinds: pod sets, counts, requests and state of an object are printed") {
  const TemporaryFile kinds(kTram);
  const Ran ran = run(kObject, {.kinds_file = kinds.path()});
  INFO(ran.err);
  CHECK(ran.code == kReviewAllowed);
  CHECK(ran.out ==
        "Tram/five, of integration example.com/tram: suspended, no pod is active, not all are ready, not ended\n"
        "  queue: q\n"
        "  POD SET  PODS  EACH REQUESTS         IN ALL\n"
        "  engine   1     cpu 500m, memory 1Gi  cpu 500m, memory 1Gi\n"
        "  front    4     cpu 500m, memory 1Gi  cpu 2, memory 4Gi\n");
}

TEST_CASE("review --kinds: how a job ended is printed, and why one can be in no queue") {
  const TemporaryFile kinds(kTram);
  const Ran ended =
      run(kObject + "status: {running: 2, conditions: [{type: Arrived, status: 'True', message: in time}]}\n",
          {.kinds_file = kinds.path()});
  CHECK(ended.out.find("its pods are active, not all are ready, succeeded: in time") != std::string::npos);
  const Ran twice =
      run("apiVersion: example.com/v1\nkind: Tram\nmetadata: {name: x}\nspec: {engine: {template: " + kPod +
              "}, cars: [{name: ENGINE, template: " + kPod + "}]}\n",
          {.kinds_file = kinds.path()});
  CHECK(twice.out.find("it can be in no queue: it has two pod sets of the name \"engine\"") != std::string::npos);
}

TEST_CASE("review --kinds: the runtime of a TrainJob is found among the files") {
  const TemporaryFile kinds(kTram);
  const std::string job = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: fit, namespace: a}
spec: {suspend: true, runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}, trainer: {numNodes: 3}}
)";
  CHECK(run(job, {.kinds_file = kinds.path()}).out.find("it can be in no queue: runtime 'rt' not found") !=
        std::string::npos);
  const std::string runtime = R"(---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: rt, namespace: a}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {
  trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: )" +
                              kPod + "}}}]}}}\n";
  CHECK(run(job + runtime, {.kinds_file = kinds.path()}).out.find("node     3     cpu 500m, memory 1Gi") !=
        std::string::npos);
}

TEST_CASE("review --kinds: what cannot be used is refused with a sentence") {
  const TemporaryFile none("apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n");
  const TemporaryFile wrong("apiVersion: config.muster.batch/v1alpha1\nkind: JobKind\nsuspend: 'a[b'\n");
  const TemporaryFile right(kTram);
  CHECK(run(kObject, {.kinds_file = none.path()}).err.find("holds no JobKind") != std::string::npos);
  CHECK(run(kObject, {.kinds_file = wrong.path()}).err.find("suspend") != std::string::npos);
  CHECK(run(kObject, {.kinds_file = "/none.yaml"}).err.find("/none.yaml") != std::string::npos);
  const Ran format = run(kObject, {.format = ReviewFormat::kJson, .kinds_file = right.path()});
  CHECK(format.code == kReviewUnusable);
  CHECK(format.err.find("leave -o out") != std::string::npos);
}

}  // namespace review_kinds_test
