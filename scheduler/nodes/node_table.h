// The nodes of the cluster and what the pods on them take, from what watches tell. It knows no Workloads and no
// flavors: those are node_capacity.h.
//
// Equal requests, and the names that pods give of their Workload, are kept once: a pod takes about 100 bytes. One
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/nodes/node_news.h"

namespace muster::scheduler {

// Numbers of resources on nodes; the last one stands for all that came too late to get a number. No node has it.
inline constexpr uint32_t kMostNodeResources = 256;
inline constexpr uint32_t kUncountedResource = kMostNodeResources - 1;

// Larger amounts, which no node has, count as this one, so that sums over all pods of a node stay within 64 bits.
inline constexpr int64_t kMostOnNode = int64_t{1} << 52;

struct NodeNeed {
  uint32_t resource;
  int64_t amount;  // more than 0

  auto operator<=>(const NodeNeed&) const = default;
};
// Of one pod, by resource.
using NodeNeeds = std::vector<NodeNeed>;

// The nodes at one moment, and what pods take on them: a value that other threads can read.
struct NodeLoads {
  struct Load {
    NodePtr node;
    std::vector<int64_t> taken;  // by number of the resource
  };
  std::vector<std::string> resources;  // by number
  std::vector<Load> nodes;
};

class NodeTable {
 public:
  NodeTable() = default;
  // These nodes are all, and what is taken on them stays taken.
  explicit NodeTable(const NodeLoads& loads);

  struct Row {
    NodePtr node;  // of one that is gone only the name; null: the row is free
    bool there = false;
    std::vector<int64_t> allocatable{};  // by resource
    std::vector<int64_t> taken{};        // by resource: all pods that are bound to it
    uint64_t listing = 0;
    size_t pods = 0;
  };
  // A pod that names a Workload and has not been deleted.
  struct Member {
    uint32_t row;
    const NodeNeeds* needs;  // good until the next take()
  };

  void take(const NodeNews& news);
  // News from before this term are too old to decide from.
  void await(uint64_t term) { term_ = term; }

  // "nodes" or "pods" while that part is not known, or not up to date; empty: both are.
  std::string_view unknown() const;
  const std::vector<Row>& rows() const { return rows_; }
  // Grows with each change of what pods a node can have, apart from room. Never 0.
  uint64_t version() const { return version_; }
  std::vector<Member> members(std::string_view ns, std::string_view workload, std::string_view pod_set) const;

  uint32_t resource(std::string_view name);
  std::string_view resource_name(uint32_t resource) const {
    return resource < resources_.size() ? std::string_view(resources_[resource]) : "another resource";
  }
  NodeNeeds needs_of(const Requests& requests);
  const std::vector<std::string>& resources() const { return resources_; }  // by number

  // The Workloads ("namespace/name") whose pods have changed since the last call.
  std::set<std::string> take_touched() { return std::exchange(touched_, {}); }
  // Whether there can be more room than at the last call.
  bool take_room() { return std::exchange(room_, false); }

  // Rows of nodes that are gone, without pods, are used again for other nodes if `unused` says so of their number.
  void recycle(const std::function<bool(uint32_t)>& unused);
  // Rows of nodes that are gone.
  size_t gone() const { return gone_; }
  size_t pods() const { return pods_.size(); }

 private:
  struct Uid {
    uint64_t high, low;
    bool operator==(const Uid&) const = default;
  };
  struct UidHash {
    size_t operator()(const Uid& uid) const { return uid.high ^ (uid.low * 0x9e3779b97f4a7c15U); }
  };
  using NeedsPlace = std::map<NodeNeeds, size_t>::iterator;  // to the number of pods with them
  struct Pod {
    uint32_t row;
    uint32_t listing;
    NeedsPlace needs;
    std::string_view owner;  // a key of members_; empty: none
  };
  struct Part {
    uint64_t listing = 0;
    bool known = false;
    uint64_t caught_up = 0;
  };

  static Uid uid_of(std::string_view text);
  static std::string owner_of(std::string_view ns, std::string_view workload, std::string_view pod_set);
  Part& part(NodePart part) { return parts_[static_cast<size_t>(part)]; }
  uint32_t row_of(const std::string& name);
  void put(const Node& node);
  void drop_node(const std::string& name);
  void put(const BoundPod& pod);
  void drop_pod(const Uid& uid);
  void count(uint32_t row, const NodeNeeds& needs, int64_t factor);
  void touch(std::string_view owner);
  void sweep(NodePart part);

  std::array<Part, 2> parts_{};
  uint64_t term_ = 0;
  uint64_t version_ = 1;
  bool room_ = false;
  std::vector<Row> rows_;
  std::vector<uint32_t> free_rows_;
  size_t gone_ = 0;
  std::map<std::string, uint32_t, std::less<>> row_by_name_;
  std::vector<std::string> resources_;
  std::map<std::string, uint32_t, std::less<>> resource_by_name_;
  std::map<NodeNeeds, size_t> needs_;
  std::unordered_map<Uid, Pod, UidHash> pods_;
  // By "namespace/workload/pod set": uids of pods that are not being deleted.
  std::map<std::string, std::vector<Uid>, std::less<>> members_;
  std::set<std::string> touched_;
};

}  // namespace muster::scheduler
