#include "commands/manifests.h"

#include <CLI/CLI.hpp>

#include "commands/settings_flags.h"
#include "commands/terminal/cli_choice.h"
#include "manifests/catalog.h"
#include "runtime/load_settings.h"
#include "runtime/read_file.h"

namespace muster::commands {

void add_manifests(CLI::App& app, ManifestsOptions& options) {
  CLI::App& command = *app.add_subcommand("manifests", "Print the objects that install muster, as YAML");
  command.add_option("--only", options.only,
                     "all, crds, rbac, deployment, policies, webhooks, api-services or samples; lean-workloads: a "
                     "policy for Kubernetes 1.36 and "
                     "later that makes Workloads smaller; visibility-flow-control: limits of the API server for the "
                     "aggregated visibility API; chart: tables of the Helm chart");
  command.add_option("--config", options.config_file, "Fit the webhooks and the ConfigMap to this configuration")
      ->type_name("FILE");
  command.add_option("--webhook-url", options.webhook_url, "Register this URL instead of the Service");
  command.add_option("--namespace", options.own_namespace, "Where muster runs; default: muster-system");
  add_on_off(command, "--serve-v1beta1", "Serve kueue.x-k8s.io/v1beta1, as Kueue did before 0.20; it costs every write",
             "--no-v1beta1", "Serve v1beta2 alone (default)", options.serves_v1beta1);
  command.add_option("--image", options.image, "Image of the Deployment");
  add_setting_flags(command, SettingFlags::kOfManifests, options.given);
  command.footer(
      "Examples:\n  muster manifests --image registry.example.com/muster:1.0 | kubectl apply --server-side -f -\n"
      "  muster manifests --only crds\n  muster manifests --config muster.yaml --namespace batch");
}

int print_manifests(const ManifestsOptions& options, std::ostream& out, std::ostream& err) {
  auto unusable = [&](const std::string& why) {
    err << "muster manifests: " << why << "\n";
    return 2;
  };
  auto set = manifests::parse_manifest_set(options.only);
  if (!set) return unusable("--only: " + set.error().message);
  ManifestsOptions alone;
  alone.only = options.only;
  if (*set == manifests::ManifestSet::kChart && options != alone)
    return unusable("--only chart prints what every installation by Helm has in common, so it takes no other option");

  manifests::ManifestOptions fitted;
  fitted.image = options.image;
  fitted.serves_v1beta1 = options.serves_v1beta1;
  if (!options.own_namespace.empty()) fitted.registration.own_namespace = options.own_namespace;
  runtime::SettingsFlags flags;
  flags.config_file = options.config_file;
  flags.given = options.given;
  auto settings = runtime::load_settings(flags, fitted.registration.own_namespace);
  if (!settings) return unusable(settings.error().message);
  const LoadedConfiguration& configuration = settings->configuration;
  const bool native = configuration.muster.jobset_controller == JobSetController::kNative;
  fitted.registration.every_jobset = native;
  fitted.registration.group_scheduling = configuration.muster.group_scheduling;
  if (configuration.muster.aggregated_visibility)
    fitted.registration.visibility_port = configuration.kueue.visibility_server.bind_port;
  if (!options.config_file.empty()) {
    fitted.registration = runtime::registration_of(*settings, fitted.registration.own_namespace, "", native);
    auto text = runtime::read_file(options.config_file);
    if (!text) return unusable(text.error().message);
    fitted.configuration = std::move(*text);
  }
  fitted.rights = manifests::rights_for(configuration);
  fitted.unqueued_kinds = configuration.muster.unqueued_kinds.value_or(UnqueuedKinds::kWarn);
  fitted.external_frameworks = kinds_with_queue(configuration.kueue);
  // Without a configuration file, the shipped one is installed: it names another Secret than Kueue's default.
  if (options.config_file.empty()) fitted.rights.secret = manifests::kCertificateSecretName;
  fitted.arguments = arguments_of(options.given);
  fitted.registration.url = options.webhook_url;
  out << manifests::print_yaml(manifests::manifests(*set, fitted));
  return 0;
}

}  // namespace muster::commands
