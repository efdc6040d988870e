#include <doctest/doctest.h>

#include "api/config/configuration.h"

namespace muster::configuration_validate_test {
namespace {

std::vector<std::string> errors_of(const std::string& rest, const std::string& version = "v1beta2") {
  const auto loaded =
      load_configuration("apiVersion: config.kueue.x-k8s.io/" + version + "\nkind: Configuration\n" + rest);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().text()));
  std::vector<std::string> texts;
  for (const FieldError& error : validate_configuration(loaded->kueue)) texts.push_back(error.text());
  return texts;
}

struct Row {
  std::string name;
  std::string yaml;
  std::vector<std::string> errors;
};

void check_rows(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(errors_of(row.yaml) == row.errors);
  }
}

}  // namespace

TEST_CASE("waiting for ready pods refuses what cannot be meant") {
  check_rows({
      {"a negative timeout is also the default of the recovery timeout",
       "waitForPodsReady: {timeout: -1s}",
       {"waitForPodsReady.recoveryTimeout: Invalid value: \"-1s\": must be greater than or equal to 0",
        "waitForPodsReady.timeout: Invalid value: \"-1s\": must be greater than or equal to 0"}},
      {"an unknown timestamp",
       "waitForPodsReady: {requeuingStrategy: {timestamp: Never}}",
       {"waitForPodsReady.requeuingStrategy.timestamp: Unsupported value: \"Never\": supported values: \"Creation\", "
        "\"Eviction\""}},
      {"negative backoff",
       "waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1, backoffBaseSeconds: -2, backoffMaxSeconds: -3}}",
       {"waitForPodsReady.requeuingStrategy.backoffBaseSeconds: Invalid value: -2: must be greater than or equal to 0",
        "waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value: -1: must be greater than or equal to 0",
        "waitForPodsReady.requeuingStrategy.backoffMaxSeconds: Invalid value: -3: must be greater than or equal to 0"}},
      {"nothing is checked while it is off",
       "waitForPodsReady: {timeout: -1s}\nfeatureGates: {DisableWaitForPodsReady: true}",
       {}},
  });
  CHECK(errors_of("waitForPodsReady: {enable: true, timeout: 0s}", "v1beta1") ==
        std::vector<std::string>{"waitForPodsReady.timeout: Required value: must be specified"});
}

TEST_CASE("integrations are checked against what Kueue knows") {
  check_rows({
      {"a framework twice",
       "integrations: {frameworks: [batch/job, batch/job]}",
       {"integrations.frameworks[1]: Duplicate value: \"batch/job\""}},
      {"an external framework must name kind and version and group",
       "integrations: {externalFrameworks: [Foo.v1]}",
       {"integrations.externalFrameworks[0]: Invalid value: \"Foo.v1\": must be format, 'Kind.version.group.com'"}},
      {"an external framework that is built in",
       "integrations: {externalFrameworks: [Job.v1.batch]}",
       {"integrations.externalFrameworks[0]: Duplicate value: \"Job.v1.batch\""}},
      {"with pods the selector is reported twice as Kueue does",
       "integrations: {frameworks: [pod]}\nmanagedJobsNamespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "
       "kube-system}}",
       {"managedJobsNamespaceSelector: Invalid value: "
        "{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"kube-system\"}}: should not match the \"kube-system\" "
        "namespace",
        "managedJobsNamespaceSelector: Invalid value: "
        "{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"kube-system\"}}: should not match the \"kube-system\" "
        "namespace"}},
  });
  const auto unknown = errors_of("integrations: {frameworks: [foo/bar]}");
  REQUIRE(unknown.size() == 1);
  CHECK(
      unknown[0].starts_with("integrations.frameworks[0]: Unsupported value: \"foo/bar\": supported values: "
                             "\"batch/job\", \"deployment\", \"jobset.x-k8s.io/jobset\""));
}

TEST_CASE("the namespace selector must be readable and keep out system namespaces") {
  check_rows({
      {"operators need values or must have none",
       "managedJobsNamespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In}, {key: b, "
       "operator: "
       "Exists, values: [x]}]}",
       {"managedJobsNamespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is "
        "'In' or 'NotIn'",
        "managedJobsNamespaceSelector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is "
        "'Exists' or 'DoesNotExist'"}},
      {"the value is shown in Kubernetes' order of fields",
       "namespace: ns\nmanagedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}], "
       "matchLabels: "
       "{kubernetes.io/metadata.name: ns}}",
       {"managedJobsNamespaceSelector: Invalid value: "
        "{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"ns\"},\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
        "\"DoesNotExist\"}]}: should not match the \"ns\" namespace"}},
      {"without a namespace only kube-system counts",
       "namespace: \"\"\nmanagedJobsNamespaceSelector: {}",
       {"managedJobsNamespaceSelector: Invalid value: {}: should not match the \"kube-system\" namespace"}},
  });
  const auto bad = errors_of("managedJobsNamespaceSelector: {matchLabels: {a b: c d}}");
  REQUIRE(bad.size() == 2);
  CHECK(bad[0].starts_with("managedJobsNamespaceSelector.matchLabels: Invalid value: \"a b\": name part must consist"));
  CHECK(bad[1].starts_with("managedJobsNamespaceSelector.matchLabels: Invalid value: \"c d\": a valid label must be"));
}

TEST_CASE("ports and addresses and TLS settings are checked") {
  check_rows({
      {"a port beyond the range",
       "webhook: {port: 70000}",
       {"webhook.port: Invalid value: 70000: must be a valid port number (1-65535)"}},
      {"an address that is none",
       "visibilityServer: {bindAddress: x y, bindPort: 70000}",
       {"visibilityServer.bindAddress: Invalid value: \"x y\": must be a valid IP address",
        "visibilityServer.bindPort: Invalid value: 70000: must be a valid port number (1-65535)"}},
      {"an IPv6 address", "visibilityServer: {bindAddress: \"::1\"}", {}},
      {"TLS that is too old",
       "tls: {minVersion: VersionTLS11}",
       {"tls: Invalid value: {\"minVersion\":\"VersionTLS11\"}: invalid minVersion. Please use VersionTLS12 or "
        "VersionTLS13"}},
      {"TLS that nobody knows",
       "tls: {minVersion: \"1.2\"}",
       {"tls: Invalid value: {\"minVersion\":\"1.2\"}: invalid minVersion: unknown tls version \"1.2\". Please use "
        "VersionTLS12 or VersionTLS13"}},
      {"TLS 1.3 has no suites to choose",
       "tls: {minVersion: VersionTLS13, cipherSuites: [TLS_AES_128_GCM_SHA256]}",
       {"tls.cipherSuites: Invalid value: [\"TLS_AES_128_GCM_SHA256\"]: may not be specified when `minVersion` is "
        "'VersionTLS13'"}},
      {"a curve twice",
       "tls: {curvePreferences: [29, 29]}",
       {"tls: Invalid value: {\"curvePreferences\":[29,29]}: invalid curve preferences: duplicate curve preference "
        "29"}},
      {"a curve out of range",
       "tls: {curvePreferences: [0]}",
       {"tls: Invalid value: {\"curvePreferences\":[0]}: invalid curve preferences: curve preference 0 is out of range "
        "(must be 1-65535)"}},
      {"names are not checked when somebody else makes the certificates",
       "internalCertManagement: {enable: false, webhookServiceName: Bad_svc}",
       {}},
  });
  const auto suites = errors_of("tls: {cipherSuites: [TLS_NONE]}");
  REQUIRE(suites.size() == 1);
  CHECK(suites[0].starts_with(
      "tls: Invalid value: {\"cipherSuites\":[\"TLS_NONE\"]}: invalid cipher suites: Cipher suite "
      "TLS_NONE not supported or doesn't exist. Please use the secure cipher names: [TLS_AES_"));
}

TEST_CASE("labels of metrics are checked") {
  check_rows({
      {"a name that Prometheus refuses",
       "metrics: {customLabels: [{name: 1a, sourceLabelKey: a}]}",
       {"metrics.customLabels[0].name: Invalid value: \"1a\": must match ^[a-zA-Z][a-zA-Z0-9_]*$"}},
      {"two sources",
       "metrics: {customLabels: [{name: a, sourceAnnotationKey: v, sourceLabelKey: x}]}",
       {"metrics.customLabels[0]: Invalid value: "
        "{\"name\":\"a\",\"sourceLabelKey\":\"x\",\"sourceAnnotationKey\":\"v\"}: sourceLabelKey and "
        "sourceAnnotationKey are mutually exclusive"}},
      {"the same name twice",
       "metrics: {customLabels: [{name: a}, {name: a}]}",
       {"metrics.customLabels[1].name: Duplicate value: \"a\""}},
      {"workloads need a closed list",
       "metrics: {customLabels: [{name: a, sourceKind: Workload}]}",
       {"metrics.customLabels[0].trackedValues: Invalid value: null: must not be empty when sourceKind is 'Workload'"}},
      {"values twice",
       "metrics: {customLabels: [{name: a, trackedValues: [x, x]}]}",
       {"metrics.customLabels[0].trackedValues: Invalid value: [\"x\",\"x\"]: must not contain duplicates"}},
      {"an unknown source",
       "metrics: {customLabels: [{name: a, sourceKind: Pod}]}",
       {"metrics.customLabels: Invalid value: [{\"name\":\"a\",\"sourceKind\":\"Pod\"}]: unknown source kind: Pod"}},
      {"a selector of LocalQueues that cannot be read",
       "metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: 'b c'}}}}",
       {"metrics.localQueueMetrics.localQueueSelector.matchLabels: Invalid value: \"b c\": a valid label must be an "
        "empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"}},
      {"the same selector without metrics of LocalQueues",
       "metrics: {localQueueMetrics: {enable: false, localQueueSelector: {matchLabels: {a: 'b c'}}}}",
       {}},
      {"the same selector without the gate of these metrics",
       "featureGates: {LocalQueueMetrics: false}\n"
       "metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: 'b c'}}}}",
       {}},
  });
}

TEST_CASE("resources are checked") {
  check_rows({
      {"ignoring undeclared resources excludes the prefixes",
       "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}",
       {"resources.quotaCheckStrategy: Invalid value: \"IgnoreUndeclared\": excludeResourcePrefixes is not allowed "
        "when "
        "quotaCheckStrategy is IgnoreUndeclared"}},
      {"an unknown strategy",
       "resources: {quotaCheckStrategy: X}",
       {"resources.quotaCheckStrategy: Unsupported value: \"X\": supported values: \"BlockUndeclared\", "
        "\"IgnoreUndeclared\""}},
      {"strategies are nobody's business without the gate",
       "resources: {quotaCheckStrategy: X}\nfeatureGates: {QuotaCheckStrategy: false}",
       {}},
      {"a mapping without classes",
       "resources: {deviceClassMappings: [{name: gpus}]}",
       {"resources.deviceClassMappings[0].deviceClassNames: Required value: at least one device class name is "
        "required"}},
      {"a class of two resources",
       "resources: {deviceClassMappings: [{name: a, deviceClassNames: [x]}, {name: b, deviceClassNames: [x]}]}",
       {"resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value: \"x\": device class already mapped to "
        "resource a"}},
      {"a resource and a class twice",
       "resources: {deviceClassMappings: [{name: a, deviceClassNames: [x, x]}, {name: a, deviceClassNames: [z]}]}",
       {"resources.deviceClassMappings[0].deviceClassNames[1]: Duplicate value: \"x\"",
        "resources.deviceClassMappings[1].name: Duplicate value: \"a\""}},
      {"a source is a counter or a capacity",
       "resources: {deviceClassMappings: [{name: a, deviceClassNames: [x], sources: [{}]}]}",
       {"resources.deviceClassMappings[0].sources[0]: Required value: exactly one source type must be set per entry"}},
      {"a counter needs its parts",
       "resources: {deviceClassMappings: [{name: a, deviceClassNames: [x], sources: [{counter: {}}]}]}",
       {"resources.deviceClassMappings[0].sources[0].counter.deviceSelector.cel.expression: Required value",
        "resources.deviceClassMappings[0].sources[0].counter.driver: Required value",
        "resources.deviceClassMappings[0].sources[0].counter.name: Required value"}},
      {"a capacity needs its gate",
       "resources: {deviceClassMappings: [{name: a, deviceClassNames: [x], sources: [{capacity: {name: m}}]}]}",
       {"resources.deviceClassMappings[0].sources[0].capacity: Invalid value: true: capacity sources require "
        "KueueDRAIntegrationConsumableCapacity to be enabled"}},
  });
}

TEST_CASE("fairness and retention and MultiKueue are checked") {
  check_rows({
      {"fair sharing must say how",
       "fairSharing: {}",
       {"fairSharing.preemptionStrategies: Required value: must be specified"}},
      {"two strategies in one text",
       "fairSharing: {preemptionStrategies: ['LessThanOrEqualToFinalShare,LessThanInitialShare']}",
       {"fairSharing.preemptionStrategies: Unsupported value: "
        "[\"LessThanOrEqualToFinalShare,LessThanInitialShare\"]: supported values: \"LessThanInitialShare\", "
        "\"LessThanOrEqualToFinalShare\", \"LessThanOrEqualToFinalShare,LessThanInitialShare\""}},
      {"a negative sampling interval: Kueue's message shows the half-life",
       "admissionFairSharing: {usageSamplingInterval: -1s, usageHalfLifeTime: 2m}",
       {"admissionFairSharing.usageSamplingInterval: Invalid value: \"2m0s\": must be greater than 0"}},
      {"negative retention",
       "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: -1s}}",
       {"objectRetentionPolicies.workloads.afterDeactivatedByKueue: Invalid value: \"-1s\": must be greater than or "
        "equal "
        "to 0"}},
      {"negative MultiKueue times are shown in nanoseconds",
       "multiKueue: {workerLostTimeout: -1s}",
       {"multiKueue.workerLostTimeout: Invalid value: -1000000000: must be greater than or equal to 0"}},
      {"external frameworks once each",
       "multiKueue: {externalFrameworks: [{name: a.b.c}, {name: a.b.c}, {name: a}]}",
       {"multiKueue.externalFrameworks[1].name: Duplicate value: \"a.b.c\"",
        "multiKueue.externalFrameworks[2].name: Invalid value: \"a\": must be in 'kind.version.group' format"}},
      {"external frameworks that Kueue itself sends to other clusters",
       "integrations: {frameworks: [batch/job, sparkoperator.k8s.io/sparkapplication]}\n"
       "multiKueue: {externalFrameworks: [{name: Job.v1.batch}, {name: SparkApplication.v1beta2.sparkoperator.k8s.io}, "
       "{name: JobSet.v1alpha2.jobset.x-k8s.io}]}",
       {"multiKueue.externalFrameworks[0].name: Invalid value: \"Job.v1.batch\": conflicts with a built-in MultiKueue "
        "adapter"}},
      {"a step without the dispatcher that steps",
       "multiKueue: {incrementalDispatcherConfig: {stepSize: 0}}",
       {"multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: 0: must be greater than or equal to 1",
        "multiKueue.incrementalDispatcherConfig: Invalid value: {\"stepSize\":0}: incrementalDispatcherConfig is only "
        "valid when dispatcherName is set to the incremental dispatcher"}},
      {"access providers need a command",
       "multiKueue: {clusterProfile: {accessProviders: [{name: p, execConfig: {apiVersion: v1, interactiveMode: "
       "Maybe}}]}}",
       {"multiKueue.clusterProfile.accessProviders.execConfig.command: Required value: must be specified",
        "multiKueue.clusterProfile.accessProviders.execConfig.interactiveMode: Unsupported value: \"Maybe\": supported "
        "values: \"Always\", \"IfAvailable\", \"Never\""}},
  });
}

TEST_CASE("the number of pods is no resource that a transformation or a device class can name") {
  const std::string reserved =
      "Invalid value: \"pods\": the key is reserved for internal kueue use: it is the number of pods";
  check_rows({
      {"as input",
       "resources: {transformations: [{input: pods, outputs: {a.com/x: 1}}]}",
       {"resources.transformations[0].input: " + reserved}},
      {"as output",
       "resources: {transformations: [{input: cpu}, {input: memory, outputs: {pods: 1}}]}",
       {"resources.transformations[1].outputs[pods]: " + reserved}},
      {"as factor",
       "resources: {transformations: [{input: cpu, multiplyBy: pods, outputs: {a.com/x: 1}}]}",
       {"resources.transformations[0].multiplyBy: " + reserved}},
      {"as a device class",
       "resources: {deviceClassMappings: [{name: pods, deviceClassNames: [gpu.a.com]}]}",
       {"resources.deviceClassMappings[0].name: " + reserved}},
      {"a resource of a similar name",
       "resources: {transformations: [{input: a.com/pods, outputs: {pods.a.com/x: 1}}]}",
       {}},
      {"without the gate",
       "featureGates: {ReservedResourceNameValidation: false}\n"
       "resources: {transformations: [{input: pods, outputs: {a.com/x: 1}}]}",
       {}},
  });
}

TEST_CASE("the name of a capacity has at most one slash") {
  const auto sources = [](const std::string& name) {
    return "featureGates: {KueueDRAIntegrationConsumableCapacity: true}\n"
           "resources: {deviceClassMappings: [{name: a.com/gpu, deviceClassNames: [gpu.a.com], sources: [{capacity: "
           "{name: " +
           name + ", driver: gpu.a.com, deviceSelector: {cel: {expression: 'true'}}}}]}]}";
  };
  check_rows({
      {"one slash", sources("a.com/memory"), {}},
      {"two slashes",
       sources("a.com/gpu/memory"),
       {"resources.deviceClassMappings[0].sources[0].capacity.name: Invalid value: \"a.com/gpu/memory\": must have at "
        "most one '/', after a DNS subdomain"}},
  });
}

}  // namespace muster::configuration_validate_test
