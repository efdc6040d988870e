#include "api/config/configuration.h"

#include <doctest/doctest.h>

#include <string>

namespace muster::configuration_test {
namespace {

using nlohmann::json;

std::string v1beta1(const std::string& rest) {
  return "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n" + rest;
}
std::string v1beta2(const std::string& rest) {
  return "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + rest;
}

LoadedConfiguration load(const std::string& yaml) {
  auto loaded = load_configuration(yaml);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().text()));
  return *loaded;
}

}  // namespace

TEST_CASE("without a file waiting for ready pods is off and Jobs and JobSets are managed") {
  const Configuration configuration = default_configuration("team-ns").kueue;
  CHECK_FALSE(wait_for_pods_ready_enabled(configuration));
  CHECK(configuration.frameworks == std::vector<std::string>{"batch/job", "jobset.x-k8s.io/jobset"});
  CHECK(configuration.namespace_ == "team-ns");
  CHECK_FALSE(configuration.managed_jobs_namespace_selector.matches({{"kubernetes.io/metadata.name", "team-ns"}}));
  CHECK(configuration.managed_jobs_namespace_selector.matches({{"kubernetes.io/metadata.name", "team-a"}}));
  CHECK(configuration.set_in_file.empty());
  CHECK(validate_configuration(configuration).empty());
  CHECK(not_acting_yet(configuration).empty());
}

TEST_CASE("waiting for ready pods has the defaults of the file's version") {
  struct Row {
    std::string name;
    std::string yaml;
    json expected;  // null: off
  };
  const json strategy = {{"timestamp", "Eviction"}, {"backoffBaseSeconds", 60}, {"backoffMaxSeconds", 3600}};
  const Row rows[] = {
      {"v1beta1 is off without enable", v1beta1("waitForPodsReady: {timeout: 10m}"), nullptr},
      {"v1beta1 has no recovery timeout of its own",
       v1beta1("waitForPodsReady: {enable: true}"),
       {{"timeout", "5m0s"}, {"blockAdmission", true}, {"requeuingStrategy", strategy}}},
      {"v1beta1 keeps what it says",
       v1beta1("waitForPodsReady: {enable: true, timeout: 90s, recoveryTimeout: 3m, blockAdmission: false}"),
       {{"timeout", "1m30s"}, {"recoveryTimeout", "3m0s"}, {"blockAdmission", false}, {"requeuingStrategy", strategy}}},
      {"v1beta2 is on with half an hour",
       v1beta2(""),
       {{"timeout", "30m0s"},
        {"recoveryTimeout", "30m0s"},
        {"blockAdmission", false},
        {"requeuingStrategy", strategy}}},
      {"v1beta2 takes zero for not set",
       v1beta2("waitForPodsReady: {timeout: 0s, recoveryTimeout: 0s}"),
       {{"timeout", "30m0s"}, {"recoveryTimeout", "0s"}, {"blockAdmission", false}, {"requeuingStrategy", strategy}}},
      {"an empty file is v1beta2",
       "",
       {{"timeout", "30m0s"},
        {"recoveryTimeout", "30m0s"},
        {"blockAdmission", false},
        {"requeuingStrategy", strategy}}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Configuration configuration = load(row.yaml).kueue;
    CHECK(wait_for_pods_ready_enabled(configuration) == !row.expected.is_null());
    CHECK(configuration.effective.value("waitForPodsReady", json()) == row.expected);
  }
}

TEST_CASE("the members have what the file says") {
  const Configuration c = load(v1beta2(R"(
namespace: batch
webhook: {port: 1234, host: 127.0.0.1, certDir: /certs}
tls: {minVersion: VersionTLS12, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: ":9"}
internalCertManagement: {enable: true, webhookServiceName: hook, webhookSecretName: keys}
leaderElection: {leaderElect: false, leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 500ms, resourceLock: endpoints, resourceName: lease-1, resourceNamespace: ns-1}
clientConnection: {qps: 1.5, burst: 7}
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {team: a}}
integrations: {frameworks: [jobset.x-k8s.io/jobset]}
featureGates: {MultiKueue: false}
)"))
                              .kueue;
  CHECK(c.version == ConfigVersion::kV1beta2);
  CHECK(c.namespace_ == "batch");
  CHECK(c.webhook.port == 1234);
  CHECK(c.webhook.host == "127.0.0.1");
  CHECK(c.webhook.cert_dir == "/certs");
  CHECK(c.tls.min_version == "VersionTLS12");
  CHECK(c.tls.cipher_suites == std::vector<std::string>{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"});
  CHECK(c.metrics_bind_address == "0");
  CHECK(c.health_probe_bind_address == ":9");
  CHECK(c.cert_management.enable);
  CHECK(c.cert_management.webhook_service_name == "hook");
  CHECK(c.cert_management.webhook_secret_name == "keys");
  CHECK(c.client_connection.qps == 1.5);
  CHECK(c.client_connection.burst == 7);
  CHECK_FALSE(c.leader_election.leader_elect);
  CHECK(c.leader_election.lease_duration == std::chrono::seconds(4));
  CHECK(c.leader_election.renew_deadline == std::chrono::seconds(3));
  CHECK(c.leader_election.retry_period == std::chrono::milliseconds(500));
  CHECK(c.leader_election.resource_lock == "endpoints");
  CHECK(c.leader_election.resource_name == "lease-1");
  CHECK(c.leader_election.resource_namespace == "ns-1");
  const LeaderElectionSettings usual = load("").kueue.leader_election;
  CHECK(usual.leader_elect);
  CHECK(usual.lease_duration == std::chrono::seconds(15));
  CHECK(usual.resource_name == "c1f6bfd2.kueue.x-k8s.io");
  CHECK(c.manage_jobs_without_queue_name);
  CHECK(c.managed_jobs_namespace_selector.text() == "team=a");
  CHECK(c.frameworks == std::vector<std::string>{"jobset.x-k8s.io/jobset"});
  CHECK(c.feature_gates == FeatureGateMap{{"MultiKueue", false}});
  CHECK(validate_configuration(c).empty());
}

TEST_CASE("a file that Kueue could not decode is refused in its words") {
  struct Row {
    std::string name;
    std::string yaml;
    std::string message;
    std::string hint = "";
  };
  const std::string to = "json: cannot unmarshal ";
  const Row rows[] = {
      {"a list where text belongs", v1beta2("namespace: [a]"),
       to + "array into Go struct field Configuration.namespace of type string"},
      {"an object where a number belongs", v1beta2("webhook: {port: {}}"),
       to + "object into Go struct field ControllerWebhook.ControllerManager.webhook.port of type int"},
      {"a broken number where a whole one belongs", v1beta2("webhook: {port: 1.5}"),
       to + "number 1.5 into Go struct field ControllerWebhook.ControllerManager.webhook.port of type int"},
      {"a number that does not fit 32 bits", v1beta2("clientConnection: {burst: 3000000000}"),
       to + "number 3000000000 into Go struct field ClientConnection.clientConnection.burst of type int32"},
      {"text where a block belongs", v1beta1("integrations: all"),
       to + "string into Go struct field Configuration.integrations of type v1beta1.Integrations"},
      {"text where a list belongs", v1beta2("integrations: {frameworks: pod}"),
       to + "string into Go struct field Integrations.integrations.frameworks of type []string"},
      {"a number in a list of text", v1beta2("integrations: {frameworks: [1]}"),
       to + "number into Go struct field Integrations.integrations.frameworks of type string"},
      {"text in a list of blocks", v1beta2("resources: {transformations: [x]}"),
       to + "string into Go struct field Resources.resources.transformations of type v1beta2.ResourceTransformation"},
      {"text among the gates", v1beta2("featureGates: {MultiKueue: \"on\"}"),
       to + "string into Go struct field Configuration.featureGates of type bool"},
      {"a list in place of a named map", v1beta2("resources: {transformations: [{input: a, outputs: []}]}"),
       to + "array into Go struct field ResourceTransformation.resources.transformations.outputs of type "
            "v1.ResourceList"},
      {"a number where a duration belongs", v1beta2("waitForPodsReady: {timeout: 5}"),
       to + "number into Go value of type string"},
      {"null where v1beta2 needs a duration", v1beta2("waitForPodsReady: {timeout: null}"),
       "time: invalid duration \"\""},
      {"the first wrong type counts", v1beta2("clientConnection: {burst: x}\nwebhook: {port: x}"),
       to + "string into Go struct field ClientConnection.clientConnection.burst of type int32"},
      {"a bad duration beats a wrong type before it",
       v1beta2("clientConnection: {burst: x}\nwaitForPodsReady: {timeout: x}"), "time: invalid duration \"x\""},
      {"unknown fields are all named", v1beta2("x: 1\nresources: {transformations: [{input: a, z: 1}]}"),
       "strict decoding error: unknown field \"resources.transformations[0].z\", unknown field \"x\""},
      {"a field of the other version says so", v1beta2("waitForPodsReady: {enable: true}"),
       "strict decoding error: unknown field \"waitForPodsReady.enable\"",
       "waitForPodsReady.enable exists in v1beta1 only; remove it, or write the file in that version"},
      {"another case of letters is proposed", v1beta2("Namespace: a"),
       "strict decoding error: unknown field \"Namespace\"", "the case of letters counts: write namespace"},
      {"a kind that is no text", "kind: 1",
       "couldn't get version/kind; json parse error: " + to + "number into Go struct field .kind of type string"},
      {"a list as the whole document", "- a", "the first document is no mapping",
       "start it with apiVersion: config.kueue.x-k8s.io/v1beta2"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto loaded = load_configuration(row.yaml);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().message == row.message);
    CHECK(loaded.error().hint == row.hint);
  }
}

TEST_CASE("text that is no YAML is refused with its place") {
  const auto loaded = load_configuration("a: b: c\n");
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().message.starts_with("line 1, column "));
}

TEST_CASE("a group without version or kind is taken for what the file must be") {
  CHECK(load("kind: Configuration\nnamespace: a").kueue.namespace_ == "a");
  CHECK(load("apiVersion: config.kueue.x-k8s.io/v1beta1\nnamespace: a").kueue.version == ConfigVersion::kV1beta1);
  CHECK(load("namespace: a").kueue.version == ConfigVersion::kV1beta2);
  CHECK(load("# nothing here\n").kueue.version == ConfigVersion::kV1beta2);
}

TEST_CASE("every field of v1beta2 is known and survives") {
  const Configuration c = load(v1beta2(R"(
webhook: {port: 9443, host: h, certDir: d}
leaderElection: {leaderElect: true, leaseDuration: 1s, renewDeadline: 2s, retryPeriod: 3s, resourceLock: leases, resourceName: nm, resourceNamespace: ns}
metrics:
  bindAddress: ":1"
  enableClusterQueueResources: true
  customLabels: [{name: team, sourceLabelKey: a, sourceKind: Cohort, trackedValues: [x]}, {name: b, sourceAnnotationKey: c}]
  localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: Exists}]}}
health: {healthProbeBindAddress: ":2", readinessEndpointName: r, livenessEndpointName: l}
pprofBindAddress: ":3"
controller: {groupKindConcurrency: {Job.batch: 5}, cacheSyncTimeout: 120000000000}
tls: {minVersion: VersionTLS12, cipherSuites: [TLS_AES_128_GCM_SHA256], curvePreferences: [29]}
internalCertManagement: {enable: true, webhookServiceName: s, webhookSecretName: t}
waitForPodsReady: {timeout: 1m, blockAdmission: true, recoveryTimeout: 2m, unscheduledTimeout: 30s, maxTimeoutOnWorkload: 2h, requeuingStrategy: {timestamp: Creation, backoffLimitCount: 1, backoffBaseSeconds: 2, backoffMaxSeconds: 3}}
integrations: {frameworks: [pod], externalFrameworks: [Foo.v1.example.com], labelKeysToCopy: [team]}
multiKueue:
  gcInterval: 1s
  origin: o
  workerLostTimeout: 2s
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  externalFrameworks: [{name: Foo.v1.example.com}]
  clusterProfile: {accessProviders: [{name: p, execConfig: {command: c, args: [a], env: [{name: nm, value: v}], apiVersion: client.authentication.k8s.io/v1, installHint: i, provideClusterInfo: true, interactiveMode: Never}}]}
  incrementalDispatcherConfig: {stepSize: 2}
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1m, usageSamplingInterval: 2m, resourceWeights: {cpu: 0.5}}
resources:
  quotaCheckStrategy: BlockUndeclared
  excludeResourcePrefixes: [example.com/]
  transformations: [{input: a, strategy: Replace, multiplyBy: b, outputs: {x: 1500m}}]
  deviceClassMappings: [{name: gpus, deviceClassNames: [gpu.example.com], sources: [{counter: {name: memory, driver: d.example.com, deviceSelector: {cel: {expression: "true"}}}}]}]
featureGates: {MultiKueue: true, WaitForPodsReadyUnscheduledTimeout: true}
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 2h}}
visibilityServer: {bindAddress: 0.0.0.0, bindPort: 1}
)"))
                              .kueue;
  CHECK(validate_configuration(c).empty());
  CHECK(c.effective["resources"]["transformations"][0]["outputs"]["x"] == "1500m");
  CHECK(c.effective["controller"]["cacheSyncTimeout"] == 120000000000);
  CHECK(c.effective["multiKueue"]["clusterProfile"]["accessProviders"][0]["execConfig"]["provideClusterInfo"] == true);
  for (const ConfigSetting& setting : configuration_settings()) {
    if ((setting.versions & static_cast<uint8_t>(ConfigVersion::kV1beta2)) == 0) continue;
    const json::json_pointer pointer([&] {
      std::string text = "/" + setting.path;
      std::replace(text.begin(), text.end(), '.', '/');
      return text;
    }());
    INFO(setting.path);
    // The old name of accessProviders, which excludes it.
    const bool deprecated = setting.path == "multiKueue.clusterProfile.credentialsProviders";
    CHECK(c.effective.contains(pointer) != deprecated);
  }
}

TEST_CASE("the incremental dispatcher has a default step in v1beta2 only") {
  const std::string rest = "multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental}\n";
  const json now = load(v1beta2(rest)).kueue.effective.at("multiKueue");
  CHECK(now.at("incrementalDispatcherConfig") == json{{"stepSize", 3}});
  CHECK_FALSE(load(v1beta1(rest)).kueue.effective.at("multiKueue").contains("incrementalDispatcherConfig"));
}

TEST_CASE("fields that only v1beta1 has are read and lead nowhere") {
  const Configuration c = load(v1beta1(R"(
queueVisibility: {clusterQueues: {maxCount: 3}, updateIntervalSeconds: 4}
integrations: {podOptions: {namespaceSelector: {}, podSelector: {matchLabels: {a: b}}}}
fairSharing: {enable: false, preemptionStrategies: [LessThanInitialShare]}
)"))
                              .kueue;
  CHECK_FALSE(c.effective.contains("queueVisibility"));
  CHECK_FALSE(c.effective["integrations"].contains("podOptions"));
  CHECK_FALSE(c.effective.contains("fairSharing"));
  CHECK(validate_configuration(c).empty());
}

}  // namespace muster::configuration_test
