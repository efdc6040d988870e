// What acts, what does not, and what rules are given.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>

#include "api/config/configuration.h"
#include "api/config/queue_settings.h"
#include "test/support/vectors.h"

namespace muster::configuration_settings_test {
namespace {

Configuration load(const std::string& rest, const std::string& version = "v1beta2") {
  const auto loaded =
      load_configuration("apiVersion: config.kueue.x-k8s.io/" + version + "\nkind: Configuration\n" + rest);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().text()));
  return loaded->kueue;
}

constexpr std::string_view kKnown[] = {"batch/job", "jobset.x-k8s.io/jobset"};

}  // namespace

TEST_CASE("what the file sets and nobody reads is listed and defaults are not") {
  struct Row {
    std::string name;
    std::string yaml;
    std::vector<std::string> idle;
  };
  const Row rows[] = {
      {"nothing set", "", {}},
      {"settings that act",
       "webhook: {port: 1, host: h, certDir: d}\nhealth: {healthProbeBindAddress: x, "
       "readinessEndpointName: r, livenessEndpointName: l}\nnamespace: ns\n"
       "managedJobsNamespaceSelector: {matchLabels: {a: b}}\nmanageJobsWithoutQueueName: false\n"
       "integrations: {frameworks: [pod]}\nclientConnection: {qps: 1, burst: 1}\n"
       "metrics: {enableClusterQueueResources: true, localQueueMetrics: {enable: true, localQueueSelector: {}}}",
       {}},
      {"blocks that do not act by their leaves",
       "waitForPodsReady: {timeout: 1m, blockAdmission: true}\nmetrics: {customLabels: [{name: a}]}",
       {"metrics.customLabels"}},
      {"a list counts as one",
       "resources: {deviceClassMappings: [{name: a, deviceClassNames: [b]}, {name: c, deviceClassNames: [d]}]}",
       {"resources.deviceClassMappings"}},
      {"an empty block is a setting", "admissionFairSharing: {}", {"admissionFairSharing"}},
      {"an empty block of settings that act", "health: {}\nwebhook: {}\nwaitForPodsReady: {}", {}},
      {"null says nothing", "waitForPodsReady: null\nmultiKueue: {origin: null}", {}},
      {"gates by name",
       "featureGates: {SchedulingEquivalenceHashing: false, MultiKueue: false, DisableWaitForPodsReady: true}",
       {"featureGates.SchedulingEquivalenceHashing"}},
      {"a group of gates some of which do not act", "featureGates: {AllAlpha: true}", {"featureGates.AllAlpha"}},
      {"a group of gates that leaves all as they are", "featureGates: {AllAlpha: false}", {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(not_acting_yet(load(row.yaml)) == row.idle);
  }
  CHECK(not_acting_yet(load("queueVisibility: {updateIntervalSeconds: 5}", "v1beta1")) ==
        std::vector<std::string>{"queueVisibility.updateIntervalSeconds"});
}

TEST_CASE("gates of the flag that nobody reads are listed too") {
  Configuration configuration = default_configuration().kueue;
  REQUIRE(apply_feature_gates(configuration, "SchedulingEquivalenceHashing=false").empty());
  CHECK(not_acting_yet(configuration) == std::vector<std::string>{"featureGates.SchedulingEquivalenceHashing"});
}

TEST_CASE("gates that only validate are named where they are set to true") {
  CHECK(only_validating(load("featureGates: {MultiKueue: true, TASMultiLayerTopology: true, TopologyAwareScheduling: "
                             "true, ElasticJobsViaWorkloadSlices: true, PartialAdmission: true}")) ==
        std::vector<std::string>{"featureGates.ElasticJobsViaWorkloadSlices", "featureGates.MultiKueue",
                                 "featureGates.TASMultiLayerTopology", "featureGates.TopologyAwareScheduling"});
  // Off is off: no check, and no feature.
  CHECK(only_validating(load("featureGates: {MultiKueue: false}")).empty());
  CHECK(only_validating(load("")).empty());
}

TEST_CASE("the gate of quotaCheckStrategy decides whether the strategy acts") {
  const std::string strategy = "resources: {quotaCheckStrategy: IgnoreUndeclared}\n";
  for (const bool on : {true, false}) {
    const Configuration configuration =
        load(strategy + "featureGates: {QuotaCheckStrategy: " + (on ? "true}" : "false}"));
    const QueueSettings settings =
        make_queue_settings(configuration, {}, make_rule_settings(configuration, {}, {"muster:0.1", ""}));
    CHECK(settings.ignore_undeclared_resources == on);
  }
}

TEST_CASE("frameworks of Kueue that muster does not queue are named in one warning") {
  const FrameworkCheck check =
      check_frameworks(load("integrations: {frameworks: [batch/job, pod, ray.io/rayjob]}"), kKnown);
  CHECK(check.errors.empty());
  CHECK(check.warning.starts_with("integrations.frameworks: muster does not queue pod, ray.io/rayjob; "));
  CHECK(check_frameworks(default_configuration().kueue, kKnown).warning.empty());
}

TEST_CASE("a misspelt framework is an error that says what was meant") {
  const Configuration configuration = load("integrations: {frameworks: [batch/jobs, rayjob, tensorflow]}");
  const FrameworkCheck check = check_frameworks(configuration, kKnown);
  CHECK(check.warning.empty());
  REQUIRE(check.errors.size() == 2);
  CHECK(check.errors[0].text() ==
        "integrations.frameworks[0]: Invalid value: \"batch/jobs\": did you mean \"batch/job\"?");
  CHECK(check.errors[1].text() ==
        "integrations.frameworks[1]: Invalid value: \"rayjob\": did you mean \"ray.io/rayjob\"?");
  // That they are wrong is said in Kueue's words.
  CHECK(validate_configuration(configuration).size() == 3);
}

TEST_CASE("rules are given what both documents and muster's surroundings say") {
  const Configuration configuration = load(
      "manageJobsWithoutQueueName: true\nmanagedJobsNamespaceSelector: {matchLabels: {team: a}}\n"
      "integrations: {frameworks: [batch/job, pod]}\nfeatureGates: {AllBeta: false, MultiKueue: true}");
  MusterConfiguration muster;
  muster.suspend_guard = SuspendGuard::kObserve;
  muster.admitters = {"alice"};
  muster.jobset_feature_gates = {{"ElasticJobSet", true}, {"RestartJob", false}};
  const RuleSettings settings =
      make_rule_settings(configuration, muster, {"registry.example.com/muster@sha256:00", "system:serviceaccount:m:m"});
  CHECK(settings.manage_jobs_without_queue_name);
  CHECK(settings.managed_jobs_namespace_selector.text() == "team=a");
  CHECK(settings.frameworks == std::set<std::string, std::less<>>{"batch/job", "pod"});
  CHECK_FALSE(settings.deny_unqueued);
  CHECK(settings.external_frameworks.empty());
  CHECK_FALSE(settings.is_external("ray.io/v1", "RayJob"));
  muster.unqueued_kinds = UnqueuedKinds::kDeny;
  CHECK(make_rule_settings(configuration, muster, {"muster:0.1", ""}).deny_unqueued);
  CHECK(settings.suspend_guard == SuspendGuard::kObserve);
  CHECK(settings.admitters == std::set<std::string, std::less<>>{"alice", "system:serviceaccount:m:m"});
  CHECK(settings.waiter.image == "registry.example.com/muster@sha256:00");
  CHECK_FALSE(settings.waiter.shell_loop);
  CHECK(settings.enabled(Gate::kMultiKueue));
  CHECK_FALSE(settings.enabled(Gate::kAdmissionGatedBy));
  CHECK(settings.jobset_enabled("ElasticJobSet"));
  CHECK_FALSE(settings.jobset_enabled("RestartJob"));
  CHECK_FALSE(settings.jobset_enabled("InPlaceRestart"));
  CHECK(RuleSettings{}.enabled(Gate::kAdmissionGatedBy));
}

TEST_CASE("external frameworks are told by kind, version and group") {
  const RuleSettings settings = make_rule_settings(
      load("integrations: {externalFrameworks: [RayJob.v1.ray.io, Train.v1alpha1.a.example.com, Thing.v1.]}"), {},
      {"muster:0.1", ""});
  CHECK(settings.is_external("ray.io/v1", "RayJob"));
  CHECK(settings.is_external("a.example.com/v1alpha1", "Train"));
  CHECK(settings.is_external("v1", "Thing"));
  CHECK_FALSE(settings.is_external("ray.io/v2", "RayJob"));
  CHECK_FALSE(settings.is_external("ray.io/v1", "RayCluster"));
  CHECK_FALSE(settings.is_external("x.ray.io/v1", "RayJob"));
  CHECK_FALSE(settings.is_external("", ""));
}

TEST_CASE("a waiter image is muster's own by the name of its repository") {
  struct Row {
    std::string name;
    const char* image;
    bool shell_loop;
  };
  const Row rows[] = {
      {"a copy elsewhere", "mirror.example.com:5000/infra/muster:0.1", false},
      {"another version", "muster:0.2", false},
      {"an image with a shell only", "docker.io/library/bash:5.2", true},
      {"a name that only begins alike", "example.com/muster-tools", true},
      {"a host of that name", "muster:5000/bash", true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    MusterConfiguration muster;
    muster.waiter_image = row.image;
    const RuleSettings settings = make_rule_settings(default_configuration().kueue, muster, {"muster:0.1", ""});
    CHECK(settings.waiter.image == row.image);
    CHECK(settings.waiter.shell_loop == row.shell_loop);
  }
}

TEST_CASE("a gate is read by some code exactly if it acts or validates") {
  std::set<std::string> read;
  const std::filesystem::path root(MUSTER_SOURCE_DIR);
  for (const char* folder : {"api", "jobs", "mutators", "validators", "state", "reconcilers"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp" || entry.path().filename() == "feature_gates.cpp") continue;
      const std::string source = test::read_source_file(std::filesystem::relative(entry.path(), root).string());
      const std::regex call(R"(\bGate::k([A-Z]\w+))");
      for (std::sregex_iterator it(source.begin(), source.end(), call), end; it != end; ++it) read.insert((*it)[1]);
    }
  }
  std::set<std::string> used, validating;
  for (const FeatureGate& gate : known_feature_gates()) {
    if (gate.use != GateUse::kNone) used.insert(std::string(gate.name));
    if (gate.use == GateUse::kValidates) validating.insert(std::string(gate.name));
  }
  CHECK(used == read);
  CHECK(validating == std::set<std::string>{"ElasticJobsViaWorkloadSlices", "KueueDRAIntegrationConsumableCapacity",
                                            "KueueDRAIntegrationPartitionableDevices", "MultiKueue",
                                            "TASMultiLayerTopology", "TopologyAwareScheduling",
                                            "WaitForPodsReadyUnscheduledTimeout"});
}

TEST_CASE("the documentation has a row for every setting and says whether it acts") {
  const std::string page = test::read_source_file("docs/configuration.md");
  const auto check_row = [&](const std::string& path, bool acts) {
    const auto row = page.find("| `" + path + "` |");
    REQUIRE_MESSAGE(row != std::string::npos, "no row for " << path);
    const std::string line = page.substr(row, page.find('\n', row) - row);
    CHECK_MESSAGE((line.find("parsed, not acting yet") == std::string::npos) == acts, line);
  };
  for (const ConfigSetting& setting : configuration_settings()) check_row(setting.path, setting.acts);
  for (const FeatureGate& gate : known_feature_gates()) {
    if (gate.use == GateUse::kNone) continue;
    const auto row = page.find("| `" + std::string(gate.name) + "` |");
    REQUIRE_MESSAGE(row != std::string::npos, gate.name);
    const std::string line = page.substr(row, page.find('\n', row) - row);
    CHECK_MESSAGE((line.find("Validation only") == std::string::npos) == (gate.use == GateUse::kActs), line);
  }
}

}  // namespace muster::configuration_settings_test
