#include "runtime/load_settings.h"

#include "api/kinds/kind_description.h"
#include "jobs/job_kind.h"
#include "runtime/read_file.h"
#include "runtime/version.h"

namespace muster {
namespace {

Result<LoadedConfiguration> read_configuration(const SettingsFlags& flags, const std::string& own_namespace) {
  if (flags.config_file.empty()) return default_configuration(own_namespace);
  const auto text = read_file(flags.config_file);
  if (!text) return fail(text.error().message);
  auto loaded = load_configuration(*text, own_namespace);
  if (!loaded) return fail(flags.config_file + ": " + loaded.error().text());
  return std::move(*loaded);
}

Outcome<> apply_flags(const SettingsFlags& flags, MusterConfiguration& muster) {
  if (flags.suspend_guard) {
    auto guard = parse_suspend_guard(*flags.suspend_guard);
    if (!guard) return fail("--suspend-guard: " + guard.error().message);
    muster.suspend_guard = *guard;
  }
  if (flags.certificate_lifetime) {
    auto lifetime = parse_certificate_lifetime(*flags.certificate_lifetime);
    if (!lifetime) return fail("--certificate-lifetime: " + lifetime.error().message);
    muster.certificate_lifetime = *lifetime;
  }
  if (flags.backoff_limit_timeout) {
    auto timeout = parse_backoff_limit_timeout(*flags.backoff_limit_timeout);
    if (!timeout) return fail("--backoff-limit-timeout: " + timeout.error().message);
    muster.backoff_limit_timeout = *timeout;
  }
  if (flags.backoff_jitter) {
    auto jitter = parse_backoff_jitter(*flags.backoff_jitter);
    if (!jitter) return fail("--backoff-jitter: " + jitter.error().message);
    muster.backoff_jitter = *jitter;
  }
  if (flags.jobset_controller) {
    auto controller = parse_jobset_controller(*flags.jobset_controller);
    if (!controller) return fail("--jobset-controller: " + controller.error().message);
    muster.jobset_controller = *controller;
  }
  if (flags.jobset_feature_gates) {
    auto gates = parse_jobset_feature_gates(*flags.jobset_feature_gates);
    if (!gates) return fail("--jobset-feature-gates: " + gates.error().message);
    muster.jobset_feature_gates = *gates;
  }
  if (flags.unqueued_kinds) {
    auto action = parse_unqueued_kinds(*flags.unqueued_kinds);
    if (!action) return fail("--unqueued-kinds: " + action.error().message);
    muster.unqueued_kinds = *action;
  }
  if (flags.patch_jobset_definition) muster.patch_jobset_definition = *flags.patch_jobset_definition;
  if (flags.group_scheduling) muster.group_scheduling = *flags.group_scheduling;
  if (flags.aggregated_visibility) muster.aggregated_visibility = *flags.aggregated_visibility;
  if (flags.dashboard) muster.dashboard = *flags.dashboard;
  if (flags.waiter_image) muster.waiter_image = *flags.waiter_image;
  if (flags.webhook_client_ca_file) muster.webhook_client_ca_file = flags.webhook_client_ca_file;
  if (!flags.webhook_client_names.empty()) muster.webhook_client_names = flags.webhook_client_names;
  if (!muster.webhook_client_names.empty() && !muster.webhook_client_ca_file) {
    return fail(
        "webhookClientNames: no client is asked for a certificate; set webhookClientCAFile (--webhook-client-ca) to "
        "the file of the authorities that sign them");
  }
  muster.admitters.insert(muster.admitters.end(), flags.admitters.begin(), flags.admitters.end());
  return Done{};
}

Outcome<> read_kinds(const std::string& file, const std::string& own_namespace, LoadedConfiguration& into) {
  if (file.empty()) return Done{};
  const auto text = read_file(file);
  if (!text) return fail(text.error().message);
  auto loaded = load_configuration(*text, own_namespace);
  if (!loaded) return fail(file + ": " + loaded.error().text());
  if (loaded->kinds.empty()) return fail(file + ": holds no JobKind; docs/kinds.md says how one looks");
  into.kinds.insert(into.kinds.end(), loaded->kinds.begin(), loaded->kinds.end());
  return Done{};
}

std::string lines_of(const std::string& where, const FieldErrors& errors) {
  std::string text;
  for (const FieldError& error : errors) text += (text.empty() ? "" : "\n") + where + error.text();
  return text;
}

Result<Settings> checked(LoadedConfiguration configuration, const std::string& feature_gates,
                         const std::string& where) {
  FieldErrors errors = apply_feature_gates(configuration.kueue, feature_gates);
  append(errors, validate_configuration(configuration.kueue));
  append(errors, install_described_kinds(configuration.kinds));
  std::vector<std::string_view> queued;
  for (const JobKind* kind : job_kinds()) {
    if (kind->is_offered()) queued.push_back(kind->framework);
  }
  FrameworkCheck frameworks = check_frameworks(configuration.kueue, queued);
  append(errors, std::move(frameworks.errors));
  append(errors, check_visibility(configuration, configuration.warnings));
  if (!errors.empty()) return fail(lines_of(where, errors));

  // Whoever describes a kind wants it queued.
  for (const KindDescriptionPtr& kind : configuration.kinds) configuration.kueue.frameworks.push_back(kind->framework);
  Settings settings;
  settings.warnings = configuration.warnings;
  if (!frameworks.warning.empty()) settings.warnings.push_back(std::move(frameworks.warning));
  settings.configuration = std::move(configuration);
  return settings;
}

}  // namespace

Result<Settings> load_settings(const SettingsFlags& flags, const std::string& own_namespace) {
  auto configuration = read_configuration(flags, own_namespace);
  if (!configuration) return fail(configuration.error().message);
  if (auto read = read_kinds(flags.kinds_file, own_namespace, *configuration); !read) return fail(read.error().message);
  if (auto applied = apply_flags(flags, configuration->muster); !applied) return fail(applied.error().message);
  return checked(std::move(*configuration), flags.feature_gates,
                 flags.config_file.empty() ? "" : flags.config_file + ": ");
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
  rules.native_jobsets = native_jobsets;
  rules.own_name = own.name;
  // Upstream's controller starts and stops the Jobs of its JobSets.
  if (!native_jobsets && !own.jobset_controller.empty()) rules.admitters.insert(own.jobset_controller);
  // Where there are admitters, nobody else makes the Jobs of queued JobSets: not even the
  // person who runs muster, unless they are one.
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
  return {.native_jobsets = native_jobsets,
          .elastic_jobsets = is_on(kElasticJobSetGate),
          .labels_job_restarts = is_on(kRestartJobGate),
          .patch_jobset_crd = muster.patch_jobset_definition && muster.group_scheduling,
          .own_namespace = own_namespace,
          .group_scheduling = muster.group_scheduling,
          .queues = make_queue_settings(settings.configuration.kueue, muster,
                                        rule_settings_of(settings, {}, native_jobsets))};
}

WebhookRegistration registration_of(const Settings& settings, const std::string& own_namespace, const std::string& url,
                                    bool native_jobsets) {
  const Configuration& kueue = settings.configuration.kueue;
  WebhookRegistration registration;
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

}  // namespace muster
