#include "test/support/queue_objects.h"

namespace muster::test {

json controlled_by(std::string_view api_version, std::string_view kind, const std::string& name,
                   const std::string& uid) {
  return json::array(
      {{{"apiVersion", api_version}, {"kind", kind}, {"name", name}, {"uid", uid}, {"controller", true}}});
}

json controlled_by(const ResourceType& type, const std::string& name, const std::string& uid) {
  return controlled_by(type.api_version, type.kind, name, uid);
}

json condition_at(const std::string& stamp, const std::string& type, const std::string& status,
                  const std::string& reason, const std::string& message) {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", message}, {"lastTransitionTime", stamp}};
}

json quota_of(const std::string& flavor, const json& nominal) {
  json resources = json::array();
  for (const auto& [name, quota] : nominal.items()) resources.push_back({{"name", name}, {"nominalQuota", quota}});
  return {{"name", flavor}, {"resources", resources}};
}

json cluster_queue_of(const std::vector<json>& flavors, const json& more) {
  json covered = json::array();
  for (const json& resource : flavors.front()["resources"]) covered.push_back(resource["name"]);
  json spec = {{"namespaceSelector", json::object()},
               {"resourceGroups", json::array({{{"coveredResources", covered}, {"flavors", flavors}}})}};
  spec.merge_patch(more);
  return {{"spec", spec}};
}

json pod_template_of(const json& requests) {
  json container = {{"name", "main"}, {"image", "app"}};
  if (!requests.is_null()) container["resources"]["requests"] = requests;
  return {{"spec", {{"containers", json::array({container})}}}};
}

json workload_of(int pods, const json& pod_template, const json& more_spec) {
  const json pod_set = {{"name", "main"}, {"count", pods}, {"template", pod_template}};
  json spec = {{"queueName", "lq"}, {"podSets", json::array({pod_set})}};
  spec.merge_patch(more_spec);
  return {{"spec", spec}};
}

json admission_of(int pods, const json& flavors, const json& usage) {
  const json pod_set = {{"name", "main"}, {"count", pods}, {"flavors", flavors}, {"resourceUsage", usage}};
  return {{"clusterQueue", "cq"}, {"podSetAssignments", json::array({pod_set})}};
}

}  // namespace muster::test
