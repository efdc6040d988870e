// What explain says of a job that waits for room on the nodes of its flavor (docs/nodes.md).
#include <doctest/doctest.h>

#include "scheduler/nodes/node_table.h"
#include "test/explain/explain_cluster.h"
#include "test/scheduler/nodes/node_news.h"

namespace room_on_nodes_test {

using namespace muster;
using namespace muster::test;

namespace {

ReconcilerSettings watching() {
  ReconcilerSettings settings;
  settings.queues.watch_nodes = true;
  return settings;
}

// Quota for ten cpus, and one node of four.
class NodesCluster : public ExplainCluster {
 public:
  scheduler::NodeTable nodes{};

  NodesCluster() : ExplainCluster(watching()) {
    decisions = state::SchedulerDriver(settings.queues, nodes, state);
    for (const ResourceType* type : {&kNamespaces, &kClusterQueues, &kLocalQueues})
      state.for_each_of(*type, [&](const TypedObject& object) { decisions.put(object, state, now()); });
    put(kResourceFlavors, "f1", {{"metadata", {{"annotations", {{std::string(kFitOnNodesAnnotation), "true"}}}}}});
    nodes.take(node_of("a", 4));
    for (const scheduler::NodePart part : {scheduler::NodePart::kNodes, scheduler::NodePart::kPods})
      nodes.take(scheduler::PartListed{part});
    put(kJobs, job());
    put(kWorkloads, workload());
    decisions.take_nodes(state, now());
    decide();
  }
};

}  // namespace

TEST_CASE("explain: a job that waits for room on nodes hears which pods have none, and that its quota is free") {
  const NodesCluster cluster;
  const ExplainReply reply = cluster.ask();
  CHECK(reply.headline ==
        "Job team-a/train waits in ClusterQueue cq: insufficient room on the nodes of flavor f1 for 1 of 2 pods of 3 "
        "cpu: 1 node has enough for one or more.");
  REQUIRE_FALSE(reply.because.empty());
  CHECK(reply.because.front() == "Its quota is free.");
  REQUIRE_FALSE(reply.starts.empty());
  CHECK(reply.starts.front() == "Starts when pods leave the nodes of flavor f1, or a node joins.");
}

}  // namespace room_on_nodes_test
