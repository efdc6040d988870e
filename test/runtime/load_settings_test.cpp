#include "runtime/load_settings.h"

#include <doctest/doctest.h>

#include "test/support/temporary_folder.h"
#include "test/support/vectors.h"

namespace load_settings_test {

using namespace muster;
using namespace muster::runtime;

namespace {

constexpr const char* kBoth =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
    "kind: Configuration\n"
    "namespace: queues\n"
    "manageJobsWithoutQueueName: true\n"
    "managedJobsNamespaceSelector: {matchLabels: {managed: 'yes'}}\n"
    "integrations: {frameworks: [batch/job]}\n"
    "internalCertManagement: {webhookServiceName: hooks, webhookSecretName: pair}\n"
    "---\n"
    "apiVersion: config.muster.batch/v1alpha1\n"
    "kind: MusterConfiguration\n"
    "suspendGuard: observe\n"
    "admitters: [ada]\n"
    "waiterImage: bash\n"
    "certificateLifetime: 1h\n";

}  // namespace

TEST_CASE("settings: the file reaches the rules and the registration") {
  const test::TemporaryFile file(kBoth);
  SettingsFlags flags;
  flags.config_file = file.path();
  auto settings = load_settings(flags, "muster-system");
  REQUIRE(settings.ok());
  CHECK(settings->configuration.kueue.namespace_ == "queues");
  CHECK(settings->configuration.muster.certificate_lifetime == std::chrono::hours(1));

  const RuleSettings rules =
      rule_settings_of(*settings, {.image = "muster:1", .user = "system:serviceaccount:q:m"}, false);
  CHECK(rules.manage_jobs_without_queue_name);
  CHECK(rules.managed_jobs_namespace_selector.matches({{"managed", "yes"}}));
  CHECK_FALSE(rules.managed_jobs_namespace_selector.matches({{"managed", "no"}}));
  CHECK(rules.frameworks == std::set<std::string, std::less<>>{"batch/job"});
  CHECK(rules.suspend_guard == SuspendGuard::kObserve);
  CHECK(rules.admitters.contains("ada"));
  CHECK(rules.admitters.contains("system:serviceaccount:q:m"));
  CHECK(rules.waiter.image == "bash");
  CHECK(rules.waiter.shell_loop);

  const manifests::WebhookRegistration registration =
      registration_of(*settings, "queues", "https://10.0.0.5:9443", false);
  CHECK(registration.own_namespace == "queues");
  CHECK(registration.service == "hooks");
  CHECK(registration.url == "https://10.0.0.5:9443");
  CHECK(registration.manage_jobs_without_queue_name);
  CHECK(registration.managed_namespaces.matches({{"managed", "yes"}}));
}

TEST_CASE("settings: a flag wins over the file") {
  const test::TemporaryFile file(kBoth);
  SettingsFlags flags;
  flags.config_file = file.path();
  flags.given = {{"suspendGuard", {"enforce"}},   {"waiterImage", {"registry.example/muster:2"}},
                 {"certificateLifetime", {"2h"}}, {"backoffLimitTimeout", {"3h"}},
                 {"backoffJitter", {"0.3"}},      {"admitters", {"eve"}}};
  flags.feature_gates = "AdmissionGatedBy=false";
  auto settings = load_settings(flags, "muster-system");
  REQUIRE(settings.ok());
  const RuleSettings rules = rule_settings_of(*settings, {.image = "muster:1", .user = ""}, true);
  CHECK(rules.suspend_guard == SuspendGuard::kEnforce);
  CHECK(rules.waiter.image == "registry.example/muster:2");
  CHECK_FALSE(rules.waiter.shell_loop);
  CHECK(rules.admitters.contains("eve"));
  CHECK(rules.admitters.contains("ada"));
  CHECK_FALSE(
      rule_settings_of(*settings, {.image = "muster:1", .user = "", .name = "me"}, false).admitters.contains("me"));
  CHECK(rule_settings_of(*settings, {.image = "muster:1", .user = "", .name = "me"}, true).admitters.contains("me"));
  CHECK_FALSE(rules.enabled(Gate::kAdmissionGatedBy));
  CHECK(settings->configuration.muster.certificate_lifetime == std::chrono::hours(2));
  const QueueSettings queues = reconciler_settings_of(*settings, true, "muster-system").queues;
  CHECK(queues.late_gang_requeuing.backoff_limit_timeout == Duration(std::chrono::hours(3)));
  CHECK(queues.late_gang_requeuing.backoff_jitter == 0.3);
}

TEST_CASE("settings: flags name the clients of the webhooks over the file") {
  const test::TemporaryFile file(std::string(kBoth) + "webhookClientCAFile: /file/ca.crt\nwebhookClientNames: [one]\n");
  SettingsFlags flags;
  flags.config_file = file.path();
  const auto of_file = load_settings(flags, "muster-system");
  REQUIRE(of_file.ok());
  CHECK(of_file->configuration.muster.webhook_client_ca_file == "/file/ca.crt");
  CHECK(of_file->configuration.muster.webhook_client_names == std::vector<std::string>{"one"});
  flags.given = {{"webhookClientCAFile", {"/flag/ca.crt"}}, {"webhookClientNames", {"two", "three"}}};
  const auto of_flags = load_settings(flags, "muster-system");
  REQUIRE(of_flags.ok());
  CHECK(of_flags->configuration.muster.webhook_client_ca_file == "/flag/ca.crt");
  CHECK(of_flags->configuration.muster.webhook_client_names == std::vector<std::string>{"two", "three"});
}

TEST_CASE("settings: without a file the image is this version's and Jobs and JobSets are known") {
  auto settings = load_settings({}, "muster-system");
  REQUIRE(settings.ok());
  CHECK(settings->configuration.kueue.namespace_ == "muster-system");
  const RuleSettings rules = rule_settings_of(*settings, {}, true);
  CHECK(rules.waiter.image == "muster:" MUSTER_VERSION);
  CHECK(rules.frameworks == std::set<std::string, std::less<>>{"batch/job", "jobset.x-k8s.io/jobset"});
  CHECK(rules.admitters.empty());
  // A person stays one where no name is given.
  CHECK(rule_settings_of(*settings, {.image = "", .user = "", .name = "me"}, true).admitters.empty());
}

TEST_CASE("settings: the dashboard is served where that is asked for, and the flag is stronger than the file") {
  const std::string own = "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n";
  const auto serves = [](const std::string& text, std::optional<bool> flag = std::nullopt) {
    const test::TemporaryFile file(text);
    SettingsFlags flags;
    flags.config_file = file.path();
    if (flag) flags.given["dashboard"] = {*flag ? "true" : "false"};
    const auto settings = load_settings(flags, "muster-system");
    REQUIRE(settings.ok());
    return settings->configuration.muster.dashboard;
  };
  CHECK_FALSE(serves(own));
  CHECK(serves(own + "dashboard: true\n"));
  CHECK_FALSE(serves(own + "dashboard: true\n", false));
  CHECK(serves(own, true));
}

TEST_CASE("settings: the visibility API is aggregated where that is asked for, at Kueue's own port") {
  const std::string server = "visibilityServer: {bindAddress: 10.0.0.5, bindPort: 9082}\n";
  const std::string kueue = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
  const std::string on =
      "---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\naggregatedVisibility: true\n";
  const auto load = [](const std::string& text, std::optional<bool> flag = std::nullopt) {
    const test::TemporaryFile file(text);
    SettingsFlags flags;
    flags.config_file = file.path();
    if (flag) flags.given["aggregatedVisibility"] = {*flag ? "true" : "false"};
    return load_settings(flags, "muster-system");
  };
  const auto port_of = [](const Settings& settings) {
    return registration_of(settings, "muster-system", "", true).visibility_port;
  };
  const auto usual = load(kueue);
  REQUIRE(usual.ok());
  CHECK(port_of(*usual) == 0);
  CHECK(port_of(*load(kueue + on)) == 8082);
  CHECK(port_of(*load(kueue, true)) == 8082);
  CHECK(port_of(*load(kueue + on, false)) == 0);
  const auto elsewhere = load(kueue + server + on);
  REQUIRE(elsewhere.ok());
  CHECK(port_of(*elsewhere) == 9082);
  CHECK(elsewhere->configuration.kueue.visibility_server.bind_address == "10.0.0.5");
  CHECK(elsewhere->warnings.size() == usual->warnings.size());

  // Kueue's settings alone do nothing, which is said.
  const auto idle = load(kueue + server);
  REQUIRE(idle.ok());
  std::string said;
  for (const std::string& warning : idle->warnings) said += warning + "\n";
  CHECK(said.find("visibilityServer.bindPort has no effect, because aggregatedVisibility") != std::string::npos);

  // The gate says whether there is such an API at all.
  for (const char* gates : {"featureGates: {VisibilityOnDemand: false}\n", "featureGates: {AllBeta: false}\n"}) {
    const auto refused = load(kueue + gates + on);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("aggregatedVisibility: Invalid value: true: the feature gate "
                                       "VisibilityOnDemand is false") != std::string::npos);
    CHECK(load(kueue + gates).ok());
  }
  CHECK(load(kueue + "featureGates: {AllBeta: false, VisibilityOnDemand: true}\n" + on).ok());
}

TEST_CASE("settings: what cannot be used names the file or the flag") {
  struct Row {
    std::string name;
    std::string file;
    SettingsFlags flags;
    std::string message;
  };
  SettingsFlags bad_guard, bad_lifetime, bad_gate, bad_limit, bad_jitter, names_alone, bad_action;
  bad_action.given = {{"unqueuedKinds", {"warn"}}};
  names_alone.given = {{"webhookClientNames", {"kube-apiserver"}}};
  bad_limit.given = {{"backoffLimitTimeout", {"never"}}};
  bad_jitter.given = {{"backoffJitter", {"2"}}};
  bad_guard.given = {{"suspendGuard", {"maybe"}}};
  bad_lifetime.given = {{"certificateLifetime", {"soon"}}};
  bad_gate.feature_gates = "NoSuchGate=true";
  const std::string kueue = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
  const Row rows[] = {
      {"an unknown field", kueue + "noSuchField: 1\n", {}, "noSuchField"},
      {"a framework that is misspelt",
       kueue + "integrations: {frameworks: [ray.io/rayclusters]}\n",
       {},
       "did you mean \"ray.io/raycluster\"?"},
      {"an action for kinds that are not queued that is none", "", bad_action, "--unqueued-kinds"},
      {"an unknown field of muster's own",
       kueue + "---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nguard: off\n",
       {},
       "guard"},
      {"a guard that is none", "", bad_guard, "--suspend-guard"},
      {"names of clients that nobody asks for", "", names_alone, "webhookClientNames"},
      {"a lifetime that is none", "", bad_lifetime, "--certificate-lifetime"},
      {"a limit in time that is none", "", bad_limit, "--backoff-limit-timeout"},
      {"jitter that is no share", "", bad_jitter, "--backoff-jitter"},
      {"a gate that nobody knows", "", bad_gate, "NoSuchGate"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const test::TemporaryFile file(row.file);
    SettingsFlags flags = row.flags;
    if (!row.file.empty()) flags.config_file = file.path();
    auto settings = load_settings(flags, "muster-system");
    REQUIRE_FALSE(settings.ok());
    INFO(settings.error().message);
    CHECK(settings.error().message.find(row.message) != std::string::npos);
    if (!row.file.empty()) CHECK(settings.error().message.starts_with(file.path()));
  }
}

TEST_CASE("settings: Kueue's configuration as it is shipped starts muster, which queues every kind of it") {
  const test::TemporaryFile file(test::read_source_file("test/support/kueue_as_shipped.yaml"));
  SettingsFlags flags;
  flags.config_file = file.path();
  auto settings = load_settings(flags, "muster-system");
  REQUIRE_MESSAGE(settings.ok(), settings.error().message);
  CHECK(settings->warnings.empty());
  CHECK(not_acting_yet(settings->configuration.kueue) == std::vector<std::string>{"controller.groupKindConcurrency"});
}

TEST_CASE("settings: kinds that serve need their pods queued") {
  const std::string head =
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job, ";
  for (const char* name : {"deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"}) {
    INFO(name);
    SettingsFlags flags;
    {
      const test::TemporaryFile alone(head + name + "]}\n");
      flags.config_file = alone.path();
      const auto refused = load_settings(flags, "muster-system");
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().message.find("integrations.frameworks[1]") != std::string::npos);
      CHECK(refused.error().message.find("\"pod\"") != std::string::npos);
    }
    const test::TemporaryFile with_pods(head + name + ", pod]}\n");
    flags.config_file = with_pods.path();
    CHECK(load_settings(flags, "muster-system").ok());
  }
}

TEST_CASE("settings: who is the JobSet controller reaches rules and registration and reconcilers") {
  SettingsFlags flags;
  flags.given = {{"jobSetFeatureGates", {"ElasticJobSet=true"}}, {"patchJobSetDefinition", {"false"}}};
  auto settings = load_settings(flags, "muster-system");
  REQUIRE(settings.ok());
  for (const bool native : {true, false}) {
    INFO("native ", native);
    const std::string theirs = "system:serviceaccount:there:jobset-controller-manager";
    const RuleSettings rules =
        rule_settings_of(*settings, {.image = "", .user = "", .jobset_controller = theirs}, native);
    CHECK(rules.runs_jobsets() == native);
    // Upstream's controller starts and stops Jobs where it is in charge; one that is not there does not.
    CHECK(rules.admitters.contains(theirs) == !native);
    CHECK(rule_settings_of(*settings, {}, native).admitters.empty());
    CHECK(registration_of(*settings, "muster-system", "", native).every_jobset == native);
    const ReconcilerSettings reconcilers = reconciler_settings_of(*settings, native, "muster-system");
    CHECK(reconcilers.queues.rules.runs_jobsets() == native);
    CHECK(reconcilers.elastic_jobsets);
    CHECK_FALSE(reconcilers.patch_jobset_crd);
  }
  auto usual = load_settings({}, "muster-system");
  REQUIRE(usual.ok());
  CHECK(reconciler_settings_of(*usual, false, "muster-system").patch_jobset_crd);
  CHECK(reconciler_settings_of(*usual, false, "muster-system").group_scheduling);
  CHECK(rule_settings_of(*usual, {}, false).group_scheduling);
  CHECK_FALSE(reconciler_settings_of(*usual, false, "muster-system").elastic_jobsets);
  CHECK_FALSE(reconciler_settings_of(*usual, false, "muster-system").labels_job_restarts);
  SettingsFlags gated;
  gated.given = {{"jobSetFeatureGates", {"RestartJob=true"}}};
  auto restarting = load_settings(gated, "muster-system");
  REQUIRE(restarting.ok());
  CHECK(reconciler_settings_of(*restarting, true, "muster-system").labels_job_restarts);
}

TEST_CASE("settings: whether jobs may start as a group reaches rules and reconcilers") {
  SettingsFlags flags;
  flags.given = {{"groupScheduling", {"false"}}};
  auto settings = load_settings(flags, "muster-system");
  REQUIRE(settings.ok());
  CHECK_FALSE(rule_settings_of(*settings, {}, false).group_scheduling);
  CHECK_FALSE(reconciler_settings_of(*settings, false, "muster-system").group_scheduling);
  // The field in the CRD is of no use then.
  CHECK_FALSE(reconciler_settings_of(*settings, false, "muster-system").patch_jobset_crd);
}

TEST_CASE("settings: flags about JobSets are refused with the words that there are") {
  SettingsFlags flags;
  flags.given = {{"jobSetController", {"both"}}};
  auto refused = load_settings(flags, "muster-system");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("--jobset-controller: must be auto") != std::string::npos);
  flags = {};
  flags.given = {{"jobSetController", {"external"}}};
  auto external = load_settings(flags, "muster-system");
  REQUIRE(external.ok());
  CHECK(external->configuration.muster.jobset_controller == JobSetController::kExternal);
  flags = {};
  flags.given = {{"jobSetFeatureGates", {"TLSOptions=false"}}};
  refused = load_settings(flags, "muster-system");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("--jobset-feature-gates: ") == 0);
}

}  // namespace load_settings_test
