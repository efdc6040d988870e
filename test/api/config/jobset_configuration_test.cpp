// The configuration file of JobSet's own controller, as a document of muster's file.
#include "api/config/jobset_configuration.h"

#include <doctest/doctest.h>

#include "api/config/configuration.h"

namespace jobset_configuration_test {

using namespace muster;

const std::string kHead = "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n";
const std::string kKueue = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
const std::string kMuster = "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n";

// JobSet's own file, with all that it can say.
const std::string kShipped = kHead + R"(
webhook: {port: 9443, host: "", certDir: /certs}
leaderElection: {leaderElect: true, resourceName: 6d4f6a47.jobset.x-k8s.io}
metrics: {bindAddress: ":8443", certDir: /metrics}
health: {healthProbeBindAddress: ":8081", readinessEndpointName: readyz, livenessEndpointName: healthz}
internalCertManagement: {enable: true, webhookServiceName: jobset-webhook-service, webhookSecretName: jobset-cert}
clientConnection: {qps: 500, burst: 500}
tls: {minVersion: VersionTLS12}
featureGates: {RestartJob: true, TLSOptions: true, InPlaceRestart: false}
)";

TEST_CASE("JobSet's Configuration: the gates act, and the rest is named once") {
  for (const std::string& text : {kShipped, kKueue + "---\n" + kShipped}) {
    const auto loaded = load_configuration(text);
    REQUIRE(loaded.ok());
    CHECK(loaded->muster.jobset_feature_gates ==
          FeatureGateMap{{"InPlaceRestart", false}, {"RestartJob", true}, {"TLSOptions", true}});
    REQUIRE(loaded->warnings.size() == 1);
    CHECK(loaded->warnings[0] ==
          "of JobSet's Configuration muster reads featureGates only, and not clientConnection.burst, "
          "clientConnection.qps, health.healthProbeBindAddress, health.livenessEndpointName, "
          "health.readinessEndpointName, internalCertManagement.enable, internalCertManagement.webhookSecretName, "
          "internalCertManagement.webhookServiceName, leaderElection.leaderElect, leaderElection.resourceName, "
          "metrics.bindAddress, metrics.certDir, tls.minVersion, webhook.certDir, webhook.host, webhook.port: Kueue's "
          "Configuration has these settings for muster's process, and MusterConfiguration has metrics.certDir as "
          "metricsCertDir");
  }
  CHECK(load_configuration(kHead + "featureGates: {RestartJob: true}\n")->warnings.empty());
}

TEST_CASE("JobSet's Configuration: what MusterConfiguration says of a gate counts, in any order") {
  const std::string theirs = kHead + "featureGates: {RestartJob: true, ElasticJobSet: true}\n";
  const std::string own = kMuster + "jobSetFeatureGates: {RestartJob: false}\n";
  for (const std::string& text : {theirs + "---\n" + own, own + "---\n" + theirs}) {
    const auto loaded = load_configuration(text);
    REQUIRE(loaded.ok());
    CHECK(loaded->muster.jobset_feature_gates == FeatureGateMap{{"ElasticJobSet", true}, {"RestartJob", false}});
  }
}

TEST_CASE("JobSet's Configuration is read as strictly as JobSet reads it") {
  struct Row {
    std::string text;
    std::string error;
  };
  const Row rows[] = {
      {"metric: {}", "metric: Forbidden: JobSet's Configuration has no such field"},
      {"metrics: {port: 1}", "metrics.port: Forbidden: JobSet's Configuration has no such field"},
      {"metrics: 5", "metrics: Invalid value: 5: must be an object"},
      {"featureGates: RestartJob",
       "featureGates: Invalid value: \"RestartJob\": must be a map from feature gates of JobSet to true or false"},
      {"featureGates: {RestartJob: yes please}",
       "featureGates.RestartJob: Invalid value: \"yes please\": must be true or false"},
      {"featureGates: {JobSetWorkloadAwareSchedulingAPI: true}",
       "featureGates.JobSetWorkloadAwareSchedulingAPI: Invalid value: true: muster does not support workload-aware "
       "scheduling of JobSets, which needs kinds of Kubernetes 1.37; leave the gate out, or run JobSet's own "
       "controller beside muster"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto loaded = load_configuration(kHead + row.text + "\n");
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().text() == "JobSet's Configuration in the document at line 1: " + row.error +
                                       " (docs/configuration.md says what muster reads of it)");
  }
  CHECK(load_configuration(kHead + "---\n" + kHead).error().text() ==
        "the document at line 4 is a second Configuration of JobSet (keep one of them)");
  CHECK(load_configuration(kHead + "metrics:\nfeatureGates:\n").ok());
}

}  // namespace jobset_configuration_test
