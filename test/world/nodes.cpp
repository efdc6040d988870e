#include "test/world/nodes.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/pods/pod_phase.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;

const Request kAsKubelet{.user = "kubelet"};

bool wants_node(const json& pod) {
  return string_at(pod, {"spec", "nodeName"}).empty() && !is_deleting(pod) && !pod_has_ended(pod) &&
         array_at(pod, {"spec", "schedulingGates"}).empty();
}

}  // namespace

Nodes::Nodes(ApiServer& server, Timeline& timeline, NodeOptions options, uint64_t seed)
    : server_(server), timeline_(timeline), options_(options), chance_(seed, "nodes"), fate_of_(default_fate) {
  for (int i = 0; i < options_.nodes; ++i) nodes_.push_back({"node-" + std::to_string(i), 0, {}});
  server_.on_change([this](const Change& change) { see(change); });
}

Nodes::~Nodes() = default;

void Nodes::hold(const std::string& name_prefix, HoldAt stage) {
  holds_[name_prefix] = stage;
}

void Nodes::release(const std::string& name_prefix) {
  holds_.erase(name_prefix);
  try_waiting();
  for (const auto& [uid, kubelet] : pods_) kubelet->retry_pull();
}

void Nodes::sell_out(const std::string& label, const std::string& value) {
  sold_out_.emplace(label, value);
}

void Nodes::put_on_sale(const std::string& label, const std::string& value) {
  sold_out_.erase({label, value});
  try_waiting();
}

bool Nodes::sold_out(const json& pod) const {
  for (const auto& [label, value] : read_string_map(object_at(pod, {"spec", "nodeSelector"}))) {
    if (sold_out_.contains({std::string(label), std::string(value)})) return true;
  }
  return false;
}

void Nodes::set_pods_per_node(int pods) {
  options_.pods_per_node = pods;
  try_waiting();
}

bool Nodes::held(std::string_view name, HoldAt stage) const {
  return std::any_of(holds_.begin(), holds_.end(),
                     [&](const auto& hold) { return hold.second == stage && name.starts_with(hold.first); });
}

bool Nodes::end_main(const ObjectKey& pod, int exit_code) {
  const ObjectPtr found = server_.get(pod);
  if (found == nullptr) return false;
  const auto kubelet = pods_.find(uid_of(*found));
  return kubelet != pods_.end() && kubelet->second->end_main(exit_code);
}

void Nodes::see(const Change& change) {
  if (*change.type == kPods) return see_pod(change);
  if (*change.type != kConfigMaps) return;
  const ObjectKey key = key_of(*change.type, *change.after);
  const CachedFiles news{change.version, barrier_files(change.removed ? nullptr : change.after.get())};
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].config_maps.contains(key)) continue;
    timeline_.after(chance_.between(options_.times.watch_low, options_.times.watch_high), [this, i, key, news] {
      const auto cached = nodes_[i].config_maps.find(key);
      if (cached != nodes_[i].config_maps.end() && cached->second.version < news.version) cached->second = news;
    });
  }
}

void Nodes::see_pod(const Change& change) {
  const json& pod = *change.after;
  const ObjectKey key = key_of(kPods, pod);
  const auto kubelet = pods_.find(uid_of(pod));
  const bool on_node = kubelet != pods_.end();
  if (change.removed || pod_has_ended(pod)) {
    waiting_.erase(key);
    // Its own kubelet can be the caller: let it finish.
    if (on_node) timeline_.after(Duration(0), [this, uid = uid_of(pod)] { stop(uid); });
    // No container runs any more, so a deletion need not wait.
    if (!change.removed && is_deleting(pod))
      timeline_.after(Duration(0),
                      [this, key, uid = uid_of(pod)] { server_.remove(key, {.uid = uid, .now = true}, kAsKubelet); });
    return;
  }
  if (!on_node) {
    if (!string_at(pod, {"spec", "nodeName"}).empty()) return start(change.after);
    if (wants_node(pod) && waiting_.insert(key).second) try_soon(key);
    return;
  }
  const json& before = *change.before;
  if (is_deleting(pod) && !is_deleting(before)) return kubelet->second->pod_deleted();
  for (const char* map : {"labels", "annotations"}) {
    if (object_at(pod, {"metadata", map}) != object_at(before, {"metadata", map}))
      return kubelet->second->pod_changed();
  }
}

void Nodes::try_soon(const ObjectKey& pod) {
  timeline_.after(chance_.between(options_.times.bind_low, options_.times.bind_high),
                  [this, pod] { try_to_bind(pod); });
}

void Nodes::try_waiting() {
  for (const ObjectKey& pod : waiting_) try_soon(pod);
}

void Nodes::try_to_bind(const ObjectKey& key) {
  const ObjectPtr pod = server_.get(key);
  if (pod == nullptr || !wants_node(*pod)) {
    waiting_.erase(key);
    return;
  }
  if (held(key.name, HoldAt::kScheduling) || sold_out(*pod)) return refuse(key, "held back by the simulation");
  for (size_t tried = 0; tried < nodes_.size(); ++tried) {
    Node& node = nodes_[++last_node_ % nodes_.size()];
    if (node.pods >= options_.pods_per_node) continue;
    waiting_.erase(key);
    ++node.pods;
    server_.patch(key, {{"spec", {{"nodeName", node.name}}}}, {.user = "scheduler"});
    return;
  }
  refuse(key, "Too many pods");
}

void Nodes::refuse(const ObjectKey& pod, const std::string& why) {
  const std::string count = std::to_string(nodes_.size());
  json condition = {{"type", "PodScheduled"},
                    {"status", "False"},
                    {"reason", "Unschedulable"},
                    {"message", "0/" + count + " nodes are available: " + count + " " + why + "."}};
  server_.patch_status(pod, {{"status", {{"conditions", json::array({std::move(condition)})}}}}, {.user = "scheduler"});
}

Nodes::Node* Nodes::find_node(std::string_view name) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

void Nodes::start(const ObjectPtr& pod) {
  Node* node = find_node(string_at(*pod, {"spec", "nodeName"}));
  if (node == nullptr) return;
  Kubelet::Surroundings around{
      .server = server_,
      .timeline = timeline_,
      .chance = chance_,
      .times = options_.times,
      .files_of =
          [this, node](const ObjectKey& config_map) {
            // The first pod that mounts it makes the kubelet read it, and the pod waits for the answer.
            auto [cached, is_new] = node->config_maps.try_emplace(config_map);
            if (is_new) {
              const ObjectPtr found = server_.get(config_map);
              cached->second = {server_.version(), barrier_files(found.get())};
            }
            return cached->second.files;
          },
      .fate_of = [this](const json& started) { return fate_of_(started); },
      .pull_fails = [this](std::string_view name) { return held(name, HoldAt::kImagePull); },
  };
  pods_.emplace(uid_of(*pod), std::make_unique<Kubelet>(std::move(around), *pod));
}

void Nodes::stop(const std::string& uid) {
  const auto kubelet = pods_.find(uid);
  if (kubelet == pods_.end()) return;
  if (Node* node = find_node(kubelet->second->node())) --node->pods;
  pods_.erase(kubelet);
  try_waiting();
}

}  // namespace muster::world
