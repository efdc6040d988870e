// Objects of a cluster as a value: read from the API server, or from a file that kubectl wrote. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/moving/rules/finding.h"

namespace muster::commands {

class ClusterDump {
 public:
  // Each object once, by kind, namespace and name; the later one wins. Objects of kueue.x-k8s.io/v1beta1 are converted
  // to v1beta2, and what cannot be converted is kept as it is.
  void add(nlohmann::json object);
  // A kind that could not be read, and why.
  void add_unread(std::string what, std::string why) { unread_.emplace_back(std::move(what), std::move(why)); }

  // By group and kind, ordered by namespace and name; empty where there are none.
  const std::vector<const nlohmann::json*>& of_kind(std::string_view group, std::string_view kind) const;
  // nullptr: not there.
  const nlohmann::json* find(std::string_view group, std::string_view kind, std::string_view ns,
                             std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& unread() const { return unread_; }
  size_t size() const { return objects_.size(); }
  const std::map<std::string, nlohmann::json>& objects() const { return objects_; }
  // Findings for what could not be read.
  std::vector<Finding> unread_findings() const;

 private:
  std::map<std::string, nlohmann::json> objects_;  // by "group/kind/namespace/name"
  mutable std::map<std::string, std::vector<const nlohmann::json*>, std::less<>> kinds_;  // made when asked for
  std::vector<std::pair<std::string, std::string>> unread_;
};

// "RayJob team-a/train", "ClusterQueue research".
std::string object_name(const nlohmann::json& object);
// The tag of an image as numbers: "registry/kueue:v0.17.2" is {0, 17}; nothing where it has no such form.
std::vector<int> image_version(std::string_view image);

}  // namespace muster::commands
