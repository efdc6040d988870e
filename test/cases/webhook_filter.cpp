#include "test/cases/webhook_filter.h"

#include <algorithm>
#include <map>

#include "api/codec/json.h"
#include "api/meta/selectors.h"
#include "test/cases/cel.h"

namespace muster::test {
namespace {

using nlohmann::json;

bool holds(const json& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool registered(const json& rule, const AdmissionRequest& request) {
  const std::string resource =
      request.sub_resource.empty() ? request.resource : request.resource + "/" + request.sub_resource;
  return holds(rule.at("apiGroups"), request.group) && holds(rule.at("apiVersions"), request.version) &&
         holds(rule.at("resources"), resource) &&
         holds(rule.at("operations"), std::string(to_text(request.operation))) &&
         (rule.at("scope") == "*" || !request.namespace_.empty());
}

std::map<std::string, std::string> labels_of(const json& object) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}).items()) {
    if (value.is_string()) labels[key] = value.get<std::string>();
  }
  return labels;
}

bool selects(const json& selector, const std::map<std::string, std::string>& labels) {
  return LabelSelector::parse(selector).value().matches({labels.begin(), labels.end()});
}

// The object as it was counts too.
bool object_selected(const json& selector, const AdmissionRequest& request) {
  return selects(selector, labels_of(request.object)) ||
         (!request.old_object.is_null() && selects(selector, labels_of(request.old_object)));
}

json variables_of(const AdmissionRequest& request) {
  json said = {{"operation", to_text(request.operation)}, {"userInfo", {{"username", request.user.username}}}};
  if (!request.sub_resource.empty()) said["subResource"] = request.sub_resource;
  return {{"object", request.object}, {"oldObject", request.old_object}, {"request", said}};
}

}  // namespace

SentBy entries_that_send(const json& entries, const AdmissionRequest& request,
                         const std::map<std::string, std::string>& namespace_labels) {
  SentBy sent;
  const json variables = variables_of(request);
  std::map<std::string, std::string> labels = namespace_labels;
  labels["kubernetes.io/metadata.name"] = request.namespace_;
  for (const json& entry : entries) {
    const json& rules = entry.at("rules");
    const std::string name = entry.at("name");
    if (!std::any_of(rules.begin(), rules.end(), [&](const json& rule) { return registered(rule, request); })) continue;
    if (!request.namespace_.empty() && !selects(entry.at("namespaceSelector"), labels)) continue;
    if (!object_selected(entry.at("objectSelector"), request)) continue;
    bool wanted = true;
    std::vector<std::string> errors;
    for (const json& condition : entry.at("matchConditions")) {
      const auto held = evaluate_cel(condition.at("expression").get<std::string>(), variables);
      if (!held) errors.push_back(name + ": " + condition.at("name").get<std::string>() + ": " + held.error().message);
      wanted = wanted && (!held || *held);
    }
    // A condition that does not hold decides, whatever the others are.
    if (!wanted) continue;
    if (errors.empty()) sent.entries.push_back(name);
    sent.errors.insert(sent.errors.end(), errors.begin(), errors.end());
  }
  return sent;
}

}  // namespace muster::test
