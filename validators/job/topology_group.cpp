#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "jobs/topology.h"
#include "validators/validator.h"

namespace muster::validators::topology_group {
namespace {

// A pod set that names a group and requests a topology. Required has precedence over preferred.
struct Member {
  const jobs::ConstPodTemplateRef* pod_template;
  std::optional<std::string_view> required, preferred;
};
using Group = std::pair<std::string_view, std::vector<Member>>;

// In order of appearance.
std::vector<Group> groups_of(const std::vector<jobs::ConstPodTemplateRef>& templates) {
  std::vector<Group> groups;
  std::unordered_map<std::string_view, size_t> places;
  for (const jobs::ConstPodTemplateRef& pod_template : templates) {
    const auto name = annotation(*pod_template.template_json, jobs::kPodSetGroupName);
    Member member{&pod_template, annotation(*pod_template.template_json, jobs::kRequiredTopology), std::nullopt};
    if (!member.required) member.preferred = annotation(*pod_template.template_json, jobs::kPreferredTopology);
    if (!name || (!member.required && !member.preferred)) continue;
    const auto [place, is_new] = places.try_emplace(*name, groups.size());
    if (is_new) groups.push_back({*name, {}});
    groups[place->second].second.push_back(member);
  }
  return groups;
}

FieldErrors blame_all(const Group& group, const std::string& detail) {
  FieldErrors errors;
  for (const Member& member : group.second) {
    errors.push_back(
        invalid(jobs::annotations_path(*member.pod_template).key(jobs::kPodSetGroupName), group.first, detail));
  }
  return errors;
}

// The error at each of them names the path of the other one.
FieldError inconsistent(const Group& group, const Member& blamed, const Member& other) {
  return {jobs::annotations_path(*blamed.pod_template), FieldErrorType::kInvalid, "",
          "must specify '" + std::string(jobs::kRequiredTopology) + "' or '" + std::string(jobs::kPreferredTopology) +
              "' topology consistent with '" + jobs::annotations_path(*other.pod_template).text() + "' in group '" +
              std::string(group.first) + "'"};
}

// A group is a leader and its workers: two pod sets with the same topology request, one of them with a single
// pod.
FieldErrors check_group(const Group& group) {
  const auto& members = group.second;
  if (members.size() != 2) {
    return blame_all(
        group, "can only define groups of exactly 2 pod sets, got: " + std::to_string(members.size()) + " pod set(s)");
  }
  const int64_t first = members[0].pod_template->count;
  const int64_t second = members[1].pod_template->count;
  FieldErrors errors;
  if (first != 1 && second != 1) {
    errors = blame_all(
        group, "can only define groups where at least one pod set has only 1 replica, got: " + std::to_string(first) +
                   " replica(s) and " + std::to_string(second) + " replica(s) in the group");
  }
  if (members[0].required != members[1].required || members[0].preferred != members[1].preferred) {
    errors.push_back(inconsistent(group, members[0], members[1]));
    errors.push_back(inconsistent(group, members[1], members[0]));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (!kind || !review.settings.enabled(Gate::kTopologyAwareScheduling) || !kind->checks_topology_groups()) return {};
  const auto templates = kind->read_pod_templates(review.request.object);
  FieldErrors errors;
  for (const Group& group : groups_of(templates)) append(errors, check_group(group));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "topology_group",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::topology_group
