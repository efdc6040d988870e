#include "engine/recording/recorded_nodes.h"

#include <doctest/doctest.h>

#include "api/meta/constants.h"
#include "engine/loop/node_feed.h"
#include "test/engine/recording/recorded_loop.h"
#include "test/scheduler/nodes/node_news.h"

namespace recorded_nodes_test {

using namespace muster;
using namespace muster::recording;
using namespace muster::test;
using scheduler::NodePart;

namespace {

engine::EngineSettings watching() {
  engine::EngineSettings settings;
  settings.reconcilers.queues.watch_nodes = true;
  return settings;
}

engine::NodesObserved observed(scheduler::NodeNews news) {
  engine::ObjectTexts texts = engine::texts_of(news);
  return {std::move(news), std::move(texts)};
}

// Two cpus of quota, and one node of one cpu: one of two Workloads is admitted.
class NodesLoop : public RecordedLoop {
 public:
  explicit NodesLoop(TextRecorder& recorder) : RecordedLoop(recorder, watching()) {
    answer();
    put(kResourceFlavors, "default", {{"metadata", {{"annotations", {{std::string(kFitOnNodesAnnotation), "true"}}}}}});
    for (const NodePart part : {NodePart::kNodes, NodePart::kPods}) apply(observed(scheduler::PartListing{part}));
    apply(observed(node_of("a", 1)));
    apply(observed(node_of("gone", 9)));
    apply(observed(scheduler::PartGone{NodePart::kNodes, "gone"}));
    apply(observed(pod_on("a", "uid-1", {{"memory", kGi}})));
    for (const NodePart part : {NodePart::kNodes, NodePart::kPods}) apply(observed(scheduler::PartListed{part}));
    for (const char* name : {"a", "b"}) {
      add_workload(name);
      answer();
    }
  }
};

}  // namespace

TEST_CASE("recorded nodes: a recording with nodes is read again, and decides the same") {
  TextRecorder recorder;
  const NodesLoop loop(recorder);
  const ReplayResult result = replay_of(recorder.text, watching());
  CHECK(result.equal());
  CHECK(result.kinds.at(DecisionKind::kAdmission).recorded == 1);
  // Without what was recorded of nodes the answer would be another one.
  CHECK_FALSE(replay_of(recorder.text).equal());
}

TEST_CASE("recorded nodes: a snapshot has what is there, between the beginnings and the ends of both lists") {
  TextRecorder recorder;
  const NodesLoop loop(recorder);
  RecordedState state;
  for (const engine::ObservedBatch& batch : recorder.batches) state.take(batch);
  engine::ObservedBatch snapshot = state.snapshot();
  std::vector<std::string> texts;
  for (const engine::ObservedEvent& event : snapshot.events) {
    if (event.what == engine::ObservedEvent::What::kNodes) texts.push_back(event.texts->front());
  }
  REQUIRE(texts.size() == 6);
  CHECK(texts[0] == R"({"listing":"nodes"})");
  CHECK(texts[1].find(R"("name":"a")") != std::string::npos);
  CHECK(texts[2] == R"({"listed":"nodes"})");
  CHECK(texts[3] == R"({"listing":"pods"})");
  CHECK(texts[4].find("uid-1") != std::string::npos);
  CHECK(texts[5] == R"({"listed":"pods"})");
}

}  // namespace recorded_nodes_test
