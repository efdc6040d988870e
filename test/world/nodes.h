// Nodes, the scheduler that fills them, and the pods that run on them
// (test/world/kubelet.h). Pods are bound in the order in which they come, wherever there
// is room; one that finds none says Unschedulable and is tried again when some is free.
//
// Source: kube-scheduler; kubelet pkg/kubelet/util/manager (ConfigMaps by watch).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "test/world/api_server.h"
#include "test/world/kubelet.h"

namespace muster::world {

struct NodeOptions {
  int nodes = 4;
  int pods_per_node = 110;
  KubeletTimes times{};
};

// Where a pod that is held back is stuck.
enum class HoldAt {
  kScheduling,  // no node takes it: Unschedulable
  kImagePull,   // it is on a node, and its first image cannot be pulled
};

class Nodes {
 public:
  // Both must outlive the nodes.
  Nodes(ApiServer& server, Timeline& timeline, NodeOptions options, uint64_t seed);
  ~Nodes();

  // Pods whose name begins so do not start until release(). "train-2-" holds the
  // replacements of one index too.
  void hold(const std::string& name_prefix, HoldAt stage = HoldAt::kScheduling);
  void release(const std::string& name_prefix);
  // Pods that select nodes with this label are not scheduled until put_on_sale(): there is no such node.
  void sell_out(const std::string& label, const std::string& value);
  void put_on_sale(const std::string& label, const std::string& value);
  // Room on every node from now on.
  void set_pods_per_node(int pods);

  // Asked once for each start of a pod's main containers, instead of its annotations.
  void decide_fates(std::function<Fate(const nlohmann::json& pod)> fate_of) { fate_of_ = std::move(fate_of); }
  // The main containers of a pod end here and now. False when they do not run.
  bool end_main(const ObjectKey& pod, int exit_code);

 private:
  struct CachedFiles {
    uint64_t version = 0;
    BarrierFiles files;
  };
  struct Node {
    std::string name;
    int pods = 0;
    // What the kubelet's watches have brought so far, of ConfigMaps that its pods mount.
    std::map<ObjectKey, CachedFiles> config_maps;
  };

  void see(const Change& change);
  void see_pod(const Change& change);
  void try_soon(const ObjectKey& pod);
  void try_waiting();
  void try_to_bind(const ObjectKey& pod);
  void refuse(const ObjectKey& pod, const std::string& why);
  void start(const ObjectPtr& pod);
  void stop(const std::string& uid);
  Node* find_node(std::string_view name);
  bool held(std::string_view name, HoldAt stage) const;
  bool sold_out(const nlohmann::json& pod) const;

  ApiServer& server_;
  Timeline& timeline_;
  NodeOptions options_;
  Chance chance_;
  std::vector<Node> nodes_;
  size_t last_node_ = 0;
  std::map<std::string, HoldAt> holds_;
  std::set<std::pair<std::string, std::string>> sold_out_;  // labels of nodes
  std::set<ObjectKey> waiting_;                             // pods without a node
  std::map<std::string, std::unique_ptr<Kubelet>> pods_;    // by uid, on a node and not ended
  std::function<Fate(const nlohmann::json& pod)> fate_of_;
};

}  // namespace muster::world
