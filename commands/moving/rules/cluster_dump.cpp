#include "commands/moving/rules/cluster_dump.h"

#include "api/codec/json.h"
#include "api/meta/owner_reference.h"
#include "base/whole_number.h"
#include "commands/review/review_judge.h"

namespace muster::commands {

using nlohmann::json;

void ClusterDump::add(json object) {
  (void)to_stored_version(object);
  const std::string key = std::string(group_of(string_at(object, {"apiVersion"}))) + "/" +
                          std::string(string_at(object, {"kind"})) + "/" +
                          std::string(string_at(object, {"metadata", "namespace"})) + "/" +
                          std::string(string_at(object, {"metadata", "name"}));
  objects_.insert_or_assign(key, std::move(object));
  kinds_.clear();
}

const std::vector<const json*>& ClusterDump::of_kind(std::string_view group, std::string_view kind) const {
  const std::string prefix = std::string(group) + "/" + std::string(kind) + "/";
  if (const auto known = kinds_.find(prefix); known != kinds_.end()) return known->second;
  std::vector<const json*> found;
  for (auto it = objects_.lower_bound(prefix); it != objects_.end() && it->first.starts_with(prefix); ++it)
    found.push_back(&it->second);
  return kinds_.emplace(prefix, std::move(found)).first->second;
}

const json* ClusterDump::find(std::string_view group, std::string_view kind, std::string_view ns,
                              std::string_view name) const {
  const auto found =
      objects_.find(std::string(group) + "/" + std::string(kind) + "/" + std::string(ns) + "/" + std::string(name));
  return found == objects_.end() ? nullptr : &found->second;
}

std::vector<Finding> ClusterDump::unread_findings() const {
  std::vector<Finding> findings;
  for (const auto& [what, why] : unread_) {
    findings.push_back({Severity::kUnknown,
                        "not-read",
                        {what},
                        "could not be read, so nothing is known of it: " + why,
                        "repeat with an account that can list it"});
  }
  return findings;
}

std::string object_name(const json& object) {
  const std::string ns(string_at(object, {"metadata", "namespace"}));
  return std::string(string_at(object, {"kind"})) + " " + (ns.empty() ? "" : ns + "/") +
         std::string(string_at(object, {"metadata", "name"}));
}

std::vector<int> image_version(std::string_view image) {
  const size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos) return {};
  std::string_view tag = image.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const auto major = take_number<int>(tag);
  if (!major || !tag.starts_with('.')) return {};
  tag.remove_prefix(1);
  const auto minor = take_number<int>(tag);
  if (!minor) return {};
  return {*major, *minor};
}

}  // namespace muster::commands
