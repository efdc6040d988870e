// What `muster simulate` is asked: queues, jobs, when they come and how long they run. Values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/reconciler_settings.h"
#include "api/meta/selectors.h"
#include "api/requests.h"
#include "api/tolerations.h"
#include "base/clock.h"
#include "kinds/typed_object.h"

namespace muster::forecast {

// What jobs that come often have in common.
struct JobShape {
  // As muster makes it for such a job. Each job gets a copy with its own name, uid and time.
  WorkloadPtr workload;
  std::string kind;  // of the job: "RayJob"
  std::string job;   // its name
  // nullopt: its pods serve until they are evicted.
  std::optional<Duration> run_time{};
  // After an eviction it goes on where it was; otherwise it runs its whole time again.
  bool keeps_progress = false;
  double weight = 1;  // among the templates of random arrivals
};

struct Arrival {
  uint32_t shape = 0;
  Duration at{};                       // since the start, never negative
  std::optional<Duration> run_time{};  // from when all its pods are ready
  // Among jobs of one shape; 0: it is the only one, and has the names of its shape.
  uint32_t serial = 0;
  std::string name{};  // of the job, where a table says one; empty: of its shape
  // As it is in a cluster, with its status; null: it is new. Of such a one `run_time` is what is left.
  WorkloadPtr stored{};
};

// How the nodes of a flavor behave.
struct FlavorTraits {
  Duration startup{};       // from when all pods have a node until they are ready
  double failure_odds = 0;  // that the pods of one admission never get ready
  // nullopt: those that the input holds with its labels.
  std::optional<uint64_t> nodes{};
  Requests node_resources{};         // of each of them, with "pods"
  bool any_number_of_nodes = false;  // as many as its pods need, whatever the input holds
};

inline constexpr std::string_view kPodsResource = "pods";
// Of a node that does not say how many pods it takes: the kubelet's default.
inline constexpr int64_t kPodsOfNode = 110;

// Nodes that are equal in all that pods ask for.
struct NodeGroup {
  std::string flavor{};  // whose annotation counts them; empty: nodes of the input, whose labels say whose they are
  std::string name{};    // of the node, where a pod asks for nodes by name; otherwise of the first one
  uint64_t count = 1;
  Labels labels{};
  std::vector<Taint> taints{};
  Requests allocatable{};
  // What pods outside of the queues hold, by the number of the node in this group.
  std::map<uint64_t, Requests> used{};
};

// It is of the input, and has the labels of the flavor's nodes.
bool carries_labels_of(const NodeGroup& nodes, const ResourceFlavor& flavor);

struct Scenario {
  TimePoint start{};
  // Namespaces, queues, flavors, classes, checks and LimitRanges. Their resourceVersions are not 0.
  std::vector<TypedObject> objects;
  std::vector<JobShape> shapes;
  std::vector<Arrival> arrivals;  // by time
  std::map<std::string, FlavorTraits, std::less<>> flavors{};
  std::vector<NodeGroup> nodes{};
  std::map<std::string, Duration, std::less<>> checks{};  // until the check says Ready
  ReconcilerSettings settings{};
  // From an eviction until the quota is free: how long pods take to stop. More than 0, so that Workloads that
  // evict each other cannot stop the time.
  Duration stop_time = std::chrono::seconds(10);
  std::optional<Duration> until{};  // nullopt: until nothing happens any more
  uint64_t seed = 0;                // of failures
};

// "team-a/train-7", as people know the job.
std::string job_name(const Scenario& scenario, size_t arrival);

}  // namespace muster::forecast
