#include "api/config/rule_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/configuration.h"
#include "api/config/feature_gates.h"

namespace muster {

namespace {

// "muster" of "registry.example.com:5000/tools/muster:1.0@sha256:…".
std::string_view repository_name(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const auto slash = image.rfind('/');
  if (slash != std::string_view::npos) image.remove_prefix(slash + 1);
  return image.substr(0, image.find(':'));
}

std::set<std::string, std::less<>> uncounted_resources(const nlohmann::json& effective) {
  const std::vector<std::string> excluded = strings_at(effective, {"resources", "excludeResourcePrefixes"});
  std::set<std::string, std::less<>> uncounted;
  for (const char* resource : {"cpu", "memory"}) {
    const std::string_view name = resource;
    if (std::any_of(excluded.begin(), excluded.end(), [&](const auto& prefix) { return name.starts_with(prefix); }))
      uncounted.emplace(name);
  }
  for (const nlohmann::json& each : array_at(effective, {"resources", "transformations"})) {
    uncounted.erase(std::string(string_at(each, {"input"})));
    uncounted.erase(std::string(string_at(each, {"multiplyBy"})));
  }
  return uncounted;
}

}  // namespace

bool RuleSettings::is_external(std::string_view api_version, std::string_view kind) const {
  if (external_frameworks.empty()) return false;
  const size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  const std::string_view version = core ? api_version : api_version.substr(slash + 1);
  const std::string_view group = core ? std::string_view() : api_version.substr(0, slash);
  std::string name(kind);
  name.append(".").append(version).append(".").append(group);
  return external_frameworks.contains(name);
}

bool RuleSettings::jobset_enabled(std::string_view jobset_gate) const {
  const auto said = jobset_feature_gates.find(jobset_gate);
  return said != jobset_feature_gates.end() && said->second;
}

RuleSettings make_rule_settings(const Configuration& configuration, const MusterConfiguration& muster,
                                const RuleContext& context) {
  RuleSettings settings;
  settings.manage_jobs_without_queue_name = configuration.manage_jobs_without_queue_name;
  settings.managed_jobs_namespace_selector = configuration.managed_jobs_namespace_selector;
  settings.frameworks = {configuration.frameworks.begin(), configuration.frameworks.end()};
  settings.external_frameworks = {configuration.external_frameworks.begin(), configuration.external_frameworks.end()};
  settings.feature_gates = resolve_feature_gates(configuration.feature_gates.value_or(FeatureGateMap{}));
  settings.suspend_guard = muster.suspend_guard;
  settings.admitters = {muster.admitters.begin(), muster.admitters.end()};
  if (!context.own_user.empty()) settings.admitters.insert(context.own_user);
  settings.waiter.image = muster.waiter_image.value_or(context.own_image);
  settings.waiter.shell_loop = repository_name(settings.waiter.image) != repository_name(context.own_image);
  settings.group_scheduling = muster.group_scheduling;
  settings.uncounted_resources = uncounted_resources(configuration.effective);
  settings.deny_unqueued = muster.unqueued_kinds == UnqueuedKinds::kDeny;
  settings.record_submitter = muster.record_submitter;
  settings.jobset_feature_gates = muster.jobset_feature_gates;
  return settings;
}

}  // namespace muster
