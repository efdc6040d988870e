#include "mutators/jobset_defaults.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/codec/json.h"
#include "jobs/edit.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// One object that gets defaults and, on UPDATE, its previous version (null if it did not exist). On CREATE
// every default is set; on UPDATE only fields that existed before.
struct Place {
  json* object;
  const json* old = nullptr;
  bool is_update = false;

  // The same step in both, making the object on CREATE.
  Place at(std::initializer_list<std::string_view> keys) const {
    if (!object) return *this;
    json* below = is_update ? jobs::existing_object(*object, keys) : jobs::make_object(*object, keys);
    return {below, old ? jobs::existing_object(*old, keys) : nullptr, is_update};
  }
  // The objects of a list, by position: the list that they are compared with is immutable.
  std::vector<Place> each(std::string_view key) const {
    std::vector<Place> places;
    json* list = object ? jobs::existing_array(*object, {key}) : nullptr;
    const json* old_list = old ? jobs::existing_array(*old, {key}) : nullptr;
    for (size_t i = 0; list && i < list->size(); ++i) {
      const bool has_old = old_list && i < old_list->size();
      places.push_back({jobs::existing_object((*list)[i], {}), has_old ? &(*old_list)[i] : nullptr, is_update});
    }
    return places;
  }
  void set(std::string_view key, json value) const { set_where(key, std::move(value), json()); }
  // For texts of which the API treats an empty text as missing.
  void set_text(std::string_view key, const std::string& text) const { set_where(key, text, ""); }

 private:
  void set_where(std::string_view key, json value, const json& as_good_as_none) const {
    if (!object) return;
    const auto found = object->find(key);
    const bool unset = found == object->end() || found->is_null() || *found == as_good_as_none;
    if (unset && (!is_update || stood_there(key, value))) (*object)[std::string(key)] = std::move(value);
  }
  bool stood_there(std::string_view key, const json& value) const {
    const json* found = old ? find_path(*old, {key}) : nullptr;
    return found && *found == value;
  }
};

void fill_network(const Place& spec) {
  spec.set("network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}});
  const Place network = spec.at({"network"});
  network.set("enableDNSHostnames", true);
  network.set("publishNotReadyAddresses", true);
}

void fill_failure_policy(const Place& policy) {
  policy.set("restartStrategy", "Recreate");
  size_t index = 0;
  for (const Place& rule : policy.each("rules")) {
    rule.set_text("name", "failurePolicyRule" + std::to_string(index++));
  }
}

void fill_replicated_job(const Place& replicated) {
  replicated.set("groupName", "default");
  replicated.set("replicas", 1);
  const Place job = replicated.at({"template", "spec"});
  job.set("completionMode", "Indexed");
  job.at({"template", "spec"}).set_text("restartPolicy", "OnFailure");
}

void fill(const Place& spec) {
  spec.set("successPolicy", {{"operator", "All"}});
  spec.set("startupPolicy", {{"startupPolicyOrder", "AnyOrder"}});
  fill_network(spec);
  if (spec.object && jobs::existing_object(*spec.object, {"failurePolicy"}))
    fill_failure_policy(spec.at({"failurePolicy"}));
  for (const Place& policy : spec.each("volumeClaimPolicies")) {
    policy.set("retentionPolicy", {{"whenDeleted", "Delete"}});
  }
  for (const Place& replicated : spec.each("replicatedJobs")) fill_replicated_job(replicated);
}

std::optional<MutationError> set_defaults(const Review&, json& object) {
  fill(Place{&object}.at({"spec"}));
  return std::nullopt;
}

std::optional<MutationError> keep_defaults(const Review& review, json& object) {
  fill(Place{&object, &review.request.old_object, true}.at({"spec"}));
  return std::nullopt;
}

}  // namespace

const Mutator jobset_defaults = {
    .name = "jobset_defaults",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .mutate = set_defaults,
    .of_native_jobsets = true,
};

const Mutator jobset_keep_defaults = {
    .name = "jobset_keep_defaults",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kUpdate},
    .mutate = keep_defaults,
    .of_native_jobsets = true,
};

}  // namespace muster::mutators
