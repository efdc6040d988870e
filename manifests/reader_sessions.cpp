#include "manifests/reader_sessions.h"

#include <nlohmann/json.hpp>
#include <string>

#include "api/meta/resource_type.h"
#include "manifests/admission_policy.h"
#include "manifests/names.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

// What is empty is left out on one side and can be written on the other.
std::string same(const std::string& field, const std::string& empty) {
  const auto value = [&](const std::string& of) {
    return "(has(" + of + field + ") ? " + of + field + " : " + empty + ")";
  };
  return value("object.spec.user.") + " == " + value("request.userInfo.");
}

}  // namespace

std::vector<json> reader_session_policy() {
  const json rule = {{"apiGroups", {kReaderSessions.group}},
                     {"apiVersions", {"*"}},
                     {"operations", {"CREATE", "UPDATE"}},
                     {"resources", {kReaderSessions.plural}},
                     {"scope", "Namespaced"}};
  json policy = {
      {"failurePolicy", "Fail"},
      {"matchConstraints", {{"matchPolicy", "Equivalent"}, {"resourceRules", json::array({rule})}}},
      {"validations", json::array({{{"expression", same("username", "''") + " && " + same("uid", "''") + " && " +
                                                       same("groups", "[]") + " && " + same("extra", "{}")},
                                    {"message", kReaderSessionRefusal},
                                    {"reason", "Forbidden"}}})}};
  return admission_policy("ValidatingAdmissionPolicy", kReaderSessionPolicyName, std::move(policy),
                          {{"validationActions", json::array({"Deny"})}});
}

}  // namespace muster::manifests
