#include "runtime/load_settings.h"

#include <algorithm>

#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"
#include "runtime/read_file.h"
#include "runtime/version.h"

namespace muster::runtime {
namespace {

std::string before(const std::string& file) {
  return file.empty() ? "" : file + ": ";
}

Result<LoadedConfiguration> read_configuration(const std::string& text, const SettingsFlags& flags,
                                               const std::string& own_namespace) {
  if (flags.config_file.empty() && text.empty()) return default_configuration(own_namespace);
  auto loaded = load_configuration(text, own_namespace);
  if (!loaded) return fail(before(flags.config_file) + loaded.error().text());
  return std::move(*loaded);
}

Outcome<> check_webhook_clients(const MusterConfiguration& muster) {
  if (muster.webhook_client_names.empty() || muster.webhook_client_ca_file) return Done{};
  return fail(
      "webhookClientNames: no client is asked for a certificate; set webhookClientCAFile (--webhook-client-ca) to "
      "the file of the authorities that sign them");
}

Outcome<> read_kinds(const std::string& text, const std::string& file, const std::string& own_namespace,
                     LoadedConfiguration& into) {
  if (file.empty() && text.empty()) return Done{};
  auto loaded = load_configuration(text, own_namespace);
  if (!loaded) return fail(before(file) + loaded.error().text());
  if (loaded->kinds.empty()) return fail(before(file) + "holds no JobKind; docs/kinds.md says how one looks");
  into.kinds.insert(into.kinds.end(), loaded->kinds.begin(), loaded->kinds.end());
  return Done{};
}

std::string lines_of(const std::string& where, const FieldErrors& errors) {
  std::string text;
  for (const FieldError& error : errors) text += (text.empty() ? "" : "\n") + where + error.text();
  return text;
}

// A configuration without any leaves those that another file of this process has described, and so does a file that is
// read again.
FieldErrors register_own_kinds(std::span<const KindDescriptionPtr> kinds) {
  const bool are_known = std::all_of(kinds.begin(), kinds.end(), [](const KindDescriptionPtr& kind) {
    const KindDescription* known = find_described_kind(kind->group, kind->kind);
    return known != nullptr && known->text == kind->text;
  });
  if (are_known) return {};
  auto registry = KindRegistry::with(kinds);
  if (!registry) return registry.error();
  jobs::register_kinds(*std::move(registry));
  return {};
}

Result<Settings> checked(LoadedConfiguration configuration, const std::string& feature_gates,
                         const std::string& where) {
  FieldErrors errors = apply_feature_gates(configuration.kueue, feature_gates);
  append(errors, validate_configuration(configuration.kueue));
  append(errors, register_own_kinds(configuration.kinds));
  std::vector<std::string_view> queued;
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (kind->is_offered()) queued.push_back(kind->framework);
  }
  FrameworkCheck frameworks = check_frameworks(configuration.kueue, queued);
  append(errors, std::move(frameworks.errors));
  append(errors, check_visibility(configuration, configuration.warnings));
  if (!errors.empty()) return fail(lines_of(where, errors));
  if (auto checked = check_webhook_clients(configuration.muster); !checked) return fail(checked.error().message);

  // A user who describes a kind wants muster to queue it.
  for (const KindDescriptionPtr& kind : configuration.kinds) configuration.kueue.frameworks.push_back(kind->framework);
  Settings settings;
  settings.warnings = configuration.warnings;
  if (!frameworks.warning.empty()) settings.warnings.push_back(std::move(frameworks.warning));
  settings.configuration = std::move(configuration);
  return settings;
}

}  // namespace

Result<Settings> load_settings(const SettingsFlags& flags, const std::string& own_namespace) {
  SettingsTexts texts;
  for (const auto& [file, text] :
       {std::pair(&flags.config_file, &texts.configuration), std::pair(&flags.kinds_file, &texts.kinds)}) {
    if (file->empty()) continue;
    auto read = read_file(*file);
    if (!read) return fail(read.error().message);
    *text = *std::move(read);
  }
  return settings_of_texts(std::move(texts), flags, own_namespace);
}

Result<Settings> settings_of_texts(SettingsTexts texts, const SettingsFlags& flags, const std::string& own_namespace) {
  auto configuration = read_configuration(texts.configuration, flags, own_namespace);
  if (!configuration) return fail(configuration.error().message);
  if (auto read = read_kinds(texts.kinds, flags.kinds_file, own_namespace, *configuration); !read)
    return fail(read.error().message);
  if (auto applied = apply_settings(flags.given, configuration->muster); !applied) return fail(applied.error().message);
  auto settings = checked(std::move(*configuration), flags.feature_gates, before(flags.config_file));
  if (settings) settings->texts = std::move(texts);
  return settings;
}

Result<Settings> settings_of_text(std::string_view text, const std::string& own_namespace) {
  auto loaded = load_configuration(text, own_namespace);
  if (!loaded) return fail(loaded.error().text());
  return checked(std::move(*loaded), "", "");
}

RuleSettings rule_settings_of(const Settings& settings, const OwnIdentity& own, bool native_jobsets) {
  const std::string image = own.image.empty() ? "muster:" + std::string(kVersion) : own.image;
  RuleSettings rules =
      make_rule_settings(settings.configuration.kueue, settings.configuration.muster, {image, own.user});
  rules.jobset_mode = native_jobsets ? JobSetMode::kNative : JobSetMode::kExternal;
  rules.own_name = own.name;
  // Upstream's controller starts and stops the Jobs of its JobSets.
  if (!native_jobsets && !own.jobset_controller.empty()) {
    rules.admitters.insert(own.jobset_controller);
    rules.jobset_controller = own.jobset_controller;
  }
  // With admitters, no other user creates the Jobs of queued JobSets: not even the person who runs muster,
  // unless this person is an admitter.
  if (native_jobsets && !rules.admitters.empty() && !own.name.empty()) rules.admitters.insert(own.name);
  return rules;
}

ReconcilerSettings reconciler_settings_of(const Settings& settings, bool native_jobsets,
                                          const std::string& own_namespace) {
  const MusterConfiguration& muster = settings.configuration.muster;
  const auto is_on = [&](std::string_view gate) {
    const auto found = muster.jobset_feature_gates.find(gate);
    return found != muster.jobset_feature_gates.end() && found->second;
  };
  return {.elastic_jobsets = is_on(kElasticJobSetGate),
          .labels_job_restarts = is_on(kRestartJobGate),
          .patch_jobset_crd = muster.patch_jobset_definition && muster.group_scheduling,
          .own_namespace = own_namespace,
          .group_scheduling = muster.group_scheduling,
          .queues =
              make_queue_settings(settings.configuration.kueue, muster, rule_settings_of(settings, {}, native_jobsets)),
          .longest_grace = muster.longest_grace_period};
}

manifests::WebhookRegistration registration_of(const Settings& settings, const std::string& own_namespace,
                                               const std::string& url, bool native_jobsets) {
  const Configuration& kueue = settings.configuration.kueue;
  manifests::WebhookRegistration registration;
  registration.own_namespace = own_namespace;
  registration.service = kueue.cert_management.webhook_service_name;
  registration.url = url;
  registration.manage_jobs_without_queue_name = kueue.manage_jobs_without_queue_name;
  registration.frameworks = {kueue.frameworks.begin(), kueue.frameworks.end()};
  registration.managed_namespaces = kueue.managed_jobs_namespace_selector;
  registration.every_jobset = native_jobsets;
  registration.group_scheduling = settings.configuration.muster.group_scheduling;
  if (settings.configuration.muster.aggregated_visibility)
    registration.visibility_port = kueue.visibility_server.bind_port;
  return registration;
}

engine::EngineSettings engine_settings_of(const Settings& settings, const EngineSurroundings& surroundings) {
  engine::EngineSettings engine;
  engine.webhooks =
      registration_of(settings, surroundings.own_namespace, surroundings.webhook_url, surroundings.native_jobsets);
  engine.webhooks.jobset_controller = surroundings.jobset_controller;
  engine.keep_webhook_configurations = surroundings.keep_webhook_configurations;
  engine.reconcilers = reconciler_settings_of(settings, surroundings.native_jobsets, surroundings.own_namespace);
  engine.admissions_at_a_time = static_cast<size_t>(settings.configuration.muster.concurrent_writes);
  return engine;
}

}  // namespace muster::runtime
