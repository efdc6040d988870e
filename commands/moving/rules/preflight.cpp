#include "commands/moving/rules/preflight.h"

#include "api/codec/json.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/kubernetes_version.h"

namespace muster::commands {
namespace {

// Kueue's file as muster would read it. A file that cannot be read is a finding, and preflight uses the
// defaults.
runtime::Settings settings_in(const ClusterDump& dump, const std::string& ns, std::vector<Finding>& findings) {
  runtime::Settings defaults;
  defaults.configuration = default_configuration(ns);
  const nlohmann::json* map = kueue_config_map(dump);
  if (map == nullptr) {
    findings.push_back({Severity::kNote,
                        "configuration-assumed",
                        {"ConfigMap kueue-manager-config"},
                        "assumed default configuration: the ConfigMap with Kueue's configuration was not found",
                        "if Kueue or muster is configured otherwise: muster preflight --config FILE"});
    return defaults;
  }
  auto settings = runtime::settings_of_text(string_at(*map, {"data", kKueueConfigKey}), ns);
  if (settings) return std::move(*settings);
  findings.push_back({Severity::kBlocker,
                      "configuration-refused",
                      {object_name(*map)},
                      "muster cannot start with this configuration: " + settings.error().message,
                      "correct " + std::string(kKueueConfigKey) + " in it"});
  return defaults;
}

}  // namespace

std::vector<Finding> preflight(const ClusterDump& dump, const PreflightOptions& options) {
  std::vector<Finding> findings = dump.unread_findings();
  const runtime::Settings settings =
      options.settings != nullptr ? *options.settings : settings_in(dump, options.muster_namespace, findings);
  const PreflightContext context{dump, settings, runtime::rule_settings_of(settings, {}, false),
                                 options.muster_namespace, findings};
  judge_kubernetes(options.server_minor, true, findings);
  preflight_components(context);
  preflight_settings(context);
  preflight_jobset_settings(context);
  preflight_queues(context);
  preflight_work(context);
  return sorted_findings(std::move(findings));
}

}  // namespace muster::commands
