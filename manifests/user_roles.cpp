#include "manifests/user_roles.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/meta/reader_session.h"
#include "api/meta/resource_type.h"
#include "base/ascii.h"
#include "kinds/kind_description.h"
#include "manifests/names.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

constexpr std::string_view kBatchAdmin = "rbac.kueue.x-k8s.io/batch-admin";
constexpr std::string_view kBatchUser = "rbac.kueue.x-k8s.io/batch-user";
constexpr std::string_view kView = "rbac.authorization.k8s.io/aggregate-to-view";
constexpr std::string_view kEdit = "rbac.authorization.k8s.io/aggregate-to-edit";

struct UserKind {
  std::string_view group, resource, name;
  // Who submits jobs edits or reads it; view and edit: also by Kubernetes' roles of these names. Kubernetes grants
  // Jobs by them already.
  bool users_edit = false, users_view = false, view = false, edit = false;
};
constexpr std::string_view kQueueGroup = "kueue.x-k8s.io";
constexpr std::array kKinds = {
    UserKind{kQueueGroup, "admissionchecks", "admissioncheck"},
    UserKind{kQueueGroup, "clusterqueues", "clusterqueue"},
    UserKind{kQueueGroup, "cohorts", "cohort"},
    UserKind{.group = "batch", .resource = "jobs", .name = "job", .users_edit = true, .users_view = true},
    UserKind{.group = "jobset.x-k8s.io",
             .resource = "jobsets",
             .name = "jobset",
             .users_edit = true,
             .users_view = true,
             .view = true,
             .edit = true},
    UserKind{.group = kQueueGroup, .resource = "localqueues", .name = "localqueue", .users_view = true, .view = true},
    UserKind{kQueueGroup, "resourceflavors", "resourceflavor"},
    UserKind{.group = kQueueGroup, .resource = "workloads", .name = "workload", .users_view = true, .view = true},
    UserKind{.group = kQueueGroup,
             .resource = "workloadpriorityclasses",
             .name = "workloadpriorityclass",
             .users_view = true},
};

json role(const std::string& name) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata", {{"name", "muster-" + name}, {"labels", {{kAppNameLabel, kAppName}}}}}};
}

json kind_role(const UserKind& kind, bool edits) {
  json made = role(std::string(kind.name) + (edits ? "-editor" : "-viewer"));
  json& labels = made["metadata"]["labels"];
  labels[kBatchAdmin] = "true";
  if (edits ? kind.users_edit : kind.users_view) labels[kBatchUser] = "true";
  if (edits ? kind.edit : kind.view) labels[edits ? kEdit : kView] = "true";
  json verbs = {"get", "list", "watch"};
  if (edits) verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  made["rules"] = {{{"apiGroups", {kind.group}}, {"resources", {kind.resource}}, {"verbs", verbs}}};
  return made;
}

// Kueue's two roles for its visibility API, aggregated or at muster's own port.
json pending_viewer(std::string_view queues, const std::string& name, bool for_users) {
  json made = role("pending-workloads-" + name + "-viewer");
  made["metadata"]["labels"][kBatchAdmin] = "true";
  if (for_users) made["metadata"]["labels"][kBatchUser] = "true";
  made["rules"] = {{{"apiGroups", {"visibility.kueue.x-k8s.io"}},
                    {"resources", {std::string(queues) + "/pendingworkloads"}},
                    {"verbs", {"get"}}}};
  return made;
}

// Asks muster in the own name. What is answered is a question of the rights on the objects.
json reader() {
  json made = role("reader");
  json& labels = made["metadata"]["labels"];
  for (const std::string_view label : {kBatchAdmin, kBatchUser, kView}) labels[label] = "true";
  made["rules"] = {{{"apiGroups", {kReaderSessions.group}},
                    {"resources", {kReaderSessions.plural}},
                    {"verbs", {"create", "delete"}}}};
  return made;
}

// For a RoleBinding in the namespace of JobSets that restart in place; an admission policy narrows it
// (in_place_agents.h).
json in_place_agent() {
  json made = role("in-place-restart-agent");
  made["rules"] = {
      {{"apiGroups", {""}}, {"resources", {"pods"}}, {"verbs", {"patch"}}},
      {{"apiGroups", {"jobset.x-k8s.io"}}, {"resources", {"jobsets"}}, {"verbs", {"get", "list", "watch"}}}};
  return made;
}

// The other kinds that can be queued and are not Kubernetes' own, whose roles grant those. Their operators have their
// own roles for view and edit.
void add_queued_kinds(std::vector<json>& roles) {
  for (const ResourceType* type : queued_types()) {
    const bool of_kubernetes = type->group.empty() || type->group == "apps";
    const bool there = std::any_of(kKinds.begin(), kKinds.end(), [&](const UserKind& kind) {
      return kind.group == type->group && kind.resource == type->plural;
    });
    if (of_kubernetes || there) continue;
    const std::string name = in_small_letters(type->kind);
    const UserKind kind{
        .group = type->group, .resource = type->plural, .name = name, .users_edit = true, .users_view = true};
    roles.push_back(kind_role(kind, true));
    roles.push_back(kind_role(kind, false));
  }
}

// Without rules: the controller manager fills them in, and whoever applies none does not contest them.
json aggregated(const std::string& name, std::string_view label) {
  json made = role(name);
  made["aggregationRule"] = {{"clusterRoleSelectors", json::array({{{"matchLabels", {{label, "true"}}}}})}};
  return made;
}

}  // namespace

std::vector<json> user_roles() {
  std::vector<json> roles = {aggregated("batch-admin", kBatchAdmin), aggregated("batch-user", kBatchUser)};
  for (const UserKind& kind : kKinds) {
    roles.push_back(kind_role(kind, true));
    roles.push_back(kind_role(kind, false));
  }
  add_queued_kinds(roles);
  roles.push_back(pending_viewer("clusterqueues", "cq", false));
  roles.push_back(pending_viewer("localqueues", "lq", true));
  roles.push_back(reader());
  roles.push_back(in_place_agent());
  return roles;
}

}  // namespace muster::manifests
