#include "api/config/jobset_configuration.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/meta/names.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kGatesField = "featureGates";

// With a dot: a field of an object.
constexpr std::string_view kFields[] = {
    "clientConnection.burst",
    "clientConnection.qps",
    "health.healthProbeBindAddress",
    "health.livenessEndpointName",
    "health.readinessEndpointName",
    "internalCertManagement.enable",
    "internalCertManagement.webhookSecretName",
    "internalCertManagement.webhookServiceName",
    "leaderElection.leaderElect",
    "leaderElection.leaseDuration",
    "leaderElection.renewDeadline",
    "leaderElection.resourceLock",
    "leaderElection.resourceName",
    "leaderElection.resourceNamespace",
    "leaderElection.retryPeriod",
    "metrics.bindAddress",
    "metrics.certDir",
    "tls.cipherSuites",
    "tls.minVersion",
    "webhook.certDir",
    "webhook.host",
    "webhook.port",
};

bool is_known(std::string_view path) {
  return std::find(std::begin(kFields), std::end(kFields), path) != std::end(kFields);
}

bool is_known_object(std::string_view name) {
  return std::any_of(std::begin(kFields), std::end(kFields), [&](std::string_view field) {
    return field.size() > name.size() && field.starts_with(name) && field[name.size()] == '.';
  });
}

FieldError no_such_field(const FieldPath& path) {
  return forbidden(path, "JobSet's Configuration has no such field");
}

void read_gates(const json& value, JobSetConfiguration& into, FieldErrors& errors) {
  if (value.is_null()) return;
  const FieldPath path{std::string(kGatesField)};
  if (!value.is_object()) {
    errors.push_back(invalid(path, value, "must be a map from feature gates of JobSet to true or false"));
    return;
  }
  for (const auto& [gate, enabled] : value.items()) {
    if (enabled.is_boolean())
      into.feature_gates[gate] = enabled.get<bool>();
    else
      errors.push_back(invalid(path.child(gate), enabled, "must be true or false"));
  }
  append(errors, check_jobset_feature_gates(kGatesField, into.feature_gates));
}

void read_object(const std::string& name, const json& value, JobSetConfiguration& into, FieldErrors& errors) {
  if (value.is_null()) return;
  if (!value.is_object()) {
    errors.push_back(type_invalid(FieldPath(name), value, "must be an object"));
    return;
  }
  for (const auto& [field, ignored] : value.items()) {
    const std::string path = name + "." + field;
    if (is_known(path))
      into.idle.push_back(path);
    else
      errors.push_back(no_such_field(FieldPath(name).child(field)));
  }
}

}  // namespace

std::string JobSetConfiguration::idle_settings() const {
  if (idle.empty()) return "";
  return "of JobSet's Configuration muster reads featureGates only, and not " + join(idle, ", ") +
         ": Kueue's Configuration has these settings for muster's process, and MusterConfiguration has metrics.certDir "
         "as "
         "metricsCertDir";
}

bool is_jobset_configuration(const json& document) {
  return string_at(document, {"kind"}) == "Configuration" &&
         string_at(document, {"apiVersion"}) == kJobSetConfigurationApiVersion;
}

Result<JobSetConfiguration, FieldErrors> read_jobset_configuration(const json& document) {
  JobSetConfiguration read;
  FieldErrors errors;
  for (const auto& [name, value] : document.items()) {
    if (name == "apiVersion" || name == "kind") continue;
    if (name == kGatesField)
      read_gates(value, read, errors);
    else if (is_known_object(name))
      read_object(name, value, read, errors);
    else
      errors.push_back(no_such_field(FieldPath(name)));
  }
  if (!errors.empty()) return fail_with(std::move(errors));
  return read;
}

Result<JobSetConfiguration> jobset_configuration_of_text(std::string_view text) {
  auto documents = read_yaml(text);
  if (!documents) return fail("line " + std::to_string(documents.error().line) + ": " + documents.error().message);
  if (documents->empty() || !is_jobset_configuration(documents->front().value))
    return fail("it is no Configuration of " + std::string(kJobSetConfigurationApiVersion));
  auto read = read_jobset_configuration(documents->front().value);
  if (read) return std::move(*read);
  std::string message;
  for (const FieldError& error : read.error()) message += (message.empty() ? "" : "; ") + error.text();
  return fail(message);
}

}  // namespace muster
