#include <doctest/doctest.h>

#include "api/config/configuration.h"

namespace muster::configuration_muster_test {
namespace {

const std::string kKueue = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
const std::string kHeader = "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n";

MusterConfiguration load_muster(const std::string& rest) {
  const auto loaded = load_configuration(kKueue + "---\n" + kHeader + rest);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().text()));
  return loaded->muster;
}

}  // namespace

TEST_CASE("MusterConfiguration has defaults that need no file") {
  for (const MusterConfiguration& muster : {default_configuration().muster, load_muster("")}) {
    CHECK(muster.suspend_guard == SuspendGuard::kEnforce);
    CHECK(muster.admitters.empty());
    CHECK_FALSE(muster.waiter_image.has_value());
    CHECK_FALSE(muster.log_format.has_value());
    CHECK(muster.certificate_lifetime == std::chrono::hours(2160));
    CHECK(muster.jobset_feature_gates.empty());
    CHECK(muster.jobset_controller == JobSetController::kAuto);
    CHECK(muster.patch_jobset_definition);
    CHECK(muster.group_scheduling);
    CHECK_FALSE(muster.aggregated_visibility);
    CHECK_FALSE(muster.dashboard);
    CHECK(muster.pod_reasons);
    CHECK_FALSE(muster.record_submitter);
    CHECK_FALSE(muster.watch_nodes);
    CHECK_FALSE(muster.backoff_limit_timeout.has_value());
    CHECK(muster.backoff_jitter == 0.1);
  }
}

TEST_CASE("every field of MusterConfiguration arrives") {
  const MusterConfiguration muster = load_muster(R"(
suspendGuard: observe
admitters: ["system:serviceaccount:jobset-system:jobset-controller-manager", alice]
waiterImage: registry.example.com/bash:5
logFormat: text
certificateLifetime: 36h
jobSetFeatureGates: {ElasticJobSet: true, RestartJob: false}
jobSetController: external
patchJobSetDefinition: false
groupScheduling: false
backoffLimitTimeout: 24h
backoffJitter: 0.25
concurrentWrites: 64
webhookClientCAFile: /etc/muster/clients/ca.crt
webhookClientNames: [kube-apiserver, api.example]
metricsCertDir: /etc/muster/metrics
aggregatedVisibility: true
dashboard: true
podReasons: false
recordSubmitter: true
watchNodes: true
)");
  CHECK(muster.record_submitter);
  CHECK(muster.watch_nodes);
  CHECK(muster.dashboard);
  CHECK_FALSE(muster.pod_reasons);
  CHECK(muster.aggregated_visibility);
  CHECK(muster.concurrent_writes == 64);
  CHECK(muster.suspend_guard == SuspendGuard::kObserve);
  CHECK(muster.admitters ==
        std::vector<std::string>{"system:serviceaccount:jobset-system:jobset-controller-manager", "alice"});
  CHECK(muster.waiter_image == "registry.example.com/bash:5");
  CHECK(muster.log_format == LogFormat::kText);
  CHECK(muster.certificate_lifetime == std::chrono::hours(36));
  CHECK(muster.jobset_feature_gates == FeatureGateMap{{"ElasticJobSet", true}, {"RestartJob", false}});
  CHECK(muster.jobset_controller == JobSetController::kExternal);
  CHECK_FALSE(muster.patch_jobset_definition);
  CHECK_FALSE(muster.group_scheduling);
  CHECK(muster.backoff_limit_timeout == Duration(std::chrono::hours(24)));
  CHECK(muster.backoff_jitter == 0.25);
  CHECK(muster.webhook_client_ca_file == "/etc/muster/clients/ca.crt");
  CHECK(muster.metrics_cert_dir == "/etc/muster/metrics");
  CHECK(muster.webhook_client_names == std::vector<std::string>{"kube-apiserver", "api.example"});
  CHECK(load_muster("suspendGuard: enforce\nlogFormat: json").log_format == LogFormat::kJson);
  CHECK(load_muster("unqueuedKinds: Deny").unqueued_kinds == UnqueuedKinds::kDeny);
  CHECK(load_muster("unqueuedKinds: Warn").unqueued_kinds == UnqueuedKinds::kWarn);
  CHECK_FALSE(load_muster("suspendGuard: enforce").unqueued_kinds.has_value());
  CHECK(load_muster("suspendGuard: null").suspend_guard == SuspendGuard::kEnforce);
}

TEST_CASE("MusterConfiguration refuses what it does not know") {
  struct Row {
    std::string name;
    std::string yaml;
    std::string message;
  };
  const Row rows[] = {
      {"an unknown field", "suspendguard: enforce",
       "suspendguard: Forbidden: is no field of MusterConfiguration; the fields are suspendGuard, admitters, "
       "waiterImage, logFormat, certificateLifetime, jobSetFeatureGates, jobSetController, patchJobSetDefinition, "
       "backoffLimitTimeout, longestGracePeriod, backoffJitter, concurrentWrites, groupScheduling, "
       "webhookClientCAFile, "
       "webhookClientNames, metricsCertDir, "
       "unqueuedKinds, aggregatedVisibility, dashboard, podReasons, recordSubmitter, watchNodes"},
      {"a word that is none", "suspendGuard: maybe",
       "suspendGuard: Invalid value: \"maybe\": must be enforce (reject) or observe (let through, with a warning)"},
      {"a wrong type", "suspendGuard: true", "suspendGuard: Invalid value: true: must be a string"},
      {"an empty text", "waiterImage: \"\"",
       "waiterImage: Required value: must not be empty; leave the field out to have the default"},
      {"an image with a space", "waiterImage: a b",
       "waiterImage: Invalid value: \"a b\": must be the name of a container image, without white space"},
      {"admitters that are no list", "admitters: alice",
       "admitters: Invalid value: \"alice\": must be a list of user names"},
      {"an admitter that is no text", "admitters: [1]", "admitters[0]: Invalid value: 1: must be a string"},
      {"an admitter twice", "admitters: [alice, alice]", "admitters[1]: Duplicate value: \"alice\""},
      {"a file of authorities that is no text", "webhookClientCAFile: [a]",
       "webhookClientCAFile: Invalid value: [\"a\"]: must be a string"},
      {"names of clients that are no list", "webhookClientNames: alice",
       "webhookClientNames: Invalid value: \"alice\": must be a list of names in certificates"},
      {"a client's name twice", "webhookClientNames: [a, a]", "webhookClientNames[1]: Duplicate value: \"a\""},
      {"a format that is none", "logFormat: xml", "logFormat: Invalid value: \"xml\": must be json or text"},
      {"a duration without unit", "certificateLifetime: \"5\"",
       "certificateLifetime: Invalid value: \"5\": time: missing unit in duration \"5\"; write a duration such as "
       "2160h"},
      {"a JobSet controller that does not exist", "jobSetController: upstream",
       "jobSetController: Invalid value: \"upstream\": must be auto (found out at start), native (muster runs JobSets) "
       "or "
       "external (JobSet's own controller does)"},
      {"patchJobSetDefinition in quotes", "patchJobSetDefinition: \"no\"",
       "patchJobSetDefinition: Invalid value: \"no\": must be true or false"},
      {"groupScheduling in quotes", "groupScheduling: \"no\"",
       "groupScheduling: Invalid value: \"no\": must be true or false"},
      {"a life that is too short", "certificateLifetime: 1s",
       "certificateLifetime: Invalid value: \"1s\": must be at least 5s"},
      {"a limit that is over at once", "backoffLimitTimeout: 0s",
       "backoffLimitTimeout: Invalid value: \"0s\": must be longer than 0s; leave it out to have no such limit"},
      {"a grace that is over at once", "longestGracePeriod: 0s",
       "longestGracePeriod: Invalid value: \"0s\": must be longer than 0s; leave it out to have no such limit"},
      {"jitter in quotes", "backoffJitter: \"0.1\"",
       "backoffJitter: Invalid value: \"0.1\": must be a share from 0 to 1, as 0.1"},
      {"a number of writes in quotes", "concurrentWrites: \"64\"",
       "concurrentWrites: Invalid value: \"64\": must be a whole number from 1 to 512"},
      {"a part of a write", "concurrentWrites: 1.5",
       "concurrentWrites: Invalid value: 1.5: must be a whole number from 1 to 512"},
      {"no writes at all", "concurrentWrites: 0",
       "concurrentWrites: Invalid value: 0: must be a whole number from 1 to 512"},
      {"more writes than a number holds", "concurrentWrites: 99999999999",
       "concurrentWrites: Invalid value: 99999999999: must be a whole number from 1 to 512"},
      {"jitter that is more than the delay", "backoffJitter: 1.5",
       "backoffJitter: Invalid value: 1.5: must be a share from 0 to 1, as 0.1"},
      {"gates that are no map", "jobSetFeatureGates: ElasticJobSet=true",
       "jobSetFeatureGates: Invalid value: \"ElasticJobSet=true\": must be a map from feature gates of JobSet to true "
       "or "
       "false"},
      {"a gate that is neither on nor off", "jobSetFeatureGates: {ElasticJobSet: soon}",
       "jobSetFeatureGates.ElasticJobSet: Invalid value: \"soon\": must be true or false"},
      {"a gate of another project", "jobSetFeatureGates: {PartialAdmission: true}",
       "jobSetFeatureGates.PartialAdmission: Forbidden: is no feature gate of JobSet; the gates are ElasticJobSet, "
       "ExecutionAttemptsTracking, InPlaceRestart, JobSetActiveDeadlineSeconds, "
       "MutablePodResourcesForSuspendedJobSets, "
       "RestartJob, TLSOptions"},
      {"the stable gate of JobSet turned off", "jobSetFeatureGates: {TLSOptions: false}",
       "jobSetFeatureGates.TLSOptions: Invalid value: false: the feature is locked to true; leave the gate out"},
      {"what happens to kinds that are not queued is none", "unqueuedKinds: deny",
       "unqueuedKinds: Invalid value: \"deny\": must be Warn or Deny"},
      {"everything is reported at once", "logFormat: xml\nsuspendGuard: no",
       "logFormat: Invalid value: \"xml\": must be json or text; suspendGuard: Invalid value: false: must be a string"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto loaded = load_configuration(kKueue + "---\n" + kHeader + row.yaml);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().message == "MusterConfiguration: " + row.message);
  }
}

TEST_CASE("documents after the first are MusterConfiguration or nothing that acts") {
  struct Row {
    std::string name;
    std::string yaml;
    std::string error;
    size_t warnings = 0;
  };
  const Row rows[] = {
      {"MusterConfiguration alone is enough", kHeader + "logFormat: text", ""},
      {"an empty document between them", kKueue + "---\n---\n" + kHeader + "logFormat: text", ""},
      {"a second Configuration of Kueue is ignored as Kueue does", kKueue + "---\n" + kKueue + "x: 1", "", 1},
      {"a document without kind is ignored as Kueue does", kKueue + "---\nnamespace: x", "", 1},
      {"two of muster's", kKueue + "---\n" + kHeader + "---\n" + kHeader,
       "the document at line 7 is a second MusterConfiguration (keep one of them)"},
      {"a kind of somebody else", kKueue + "---\napiVersion: v1\nkind: ConfigMap",
       "the document at line 4 is of kind ConfigMap, apiVersion v1, which muster does not know (beside Kueue's "
       "Configuration a file may hold one MusterConfiguration of config.muster.batch/v1alpha1, JobSet's Configuration "
       "of config.jobset.x-k8s.io/v1alpha1, and JobKinds of config.muster.batch/v1alpha1)"},
      {"a version of MusterConfiguration that is not there",
       kKueue + "---\napiVersion: config.muster.batch/v2\nkind: MusterConfiguration",
       "the document at line 4 is of kind MusterConfiguration, apiVersion config.muster.batch/v2, which muster does "
       "not "
       "know (beside Kueue's Configuration a file may hold one MusterConfiguration of config.muster.batch/v1alpha1, "
       "JobSet's Configuration of config.jobset.x-k8s.io/v1alpha1, and JobKinds of config.muster.batch/v1alpha1)"},
      {"a JobKind with a mistake", kKueue + "---\napiVersion: config.muster.batch/v1alpha1\nkind: JobKind\nframwork: x",
       "JobKind in the document at line 4: framework: Required value: must be given; group: Required value: must be "
       "given; version: Required value: must be given; kindName: Required value: must be given; resource: Required "
       "value: must be given; suspend: Required value: must be given; podSets: Required value: must be given; active: "
       "Required value: must be given; ready: Required value: must be given; framwork: Forbidden: there is no such "
       "field here (docs/kinds.md lists the fields)"},
      {"Kueue's Configuration in second place", kHeader + "---\n" + kKueue,
       "the document at line 4 is Kueue's Configuration and not the first document (put it first: Kueue reads nothing "
       "else)"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto loaded = load_configuration(row.yaml);
    REQUIRE(loaded.ok() == row.error.empty());
    if (loaded.ok()) {
      CHECK(loaded->warnings.size() == row.warnings);
    } else {
      CHECK(loaded.error().text() == row.error);
    }
  }
}

TEST_CASE("with MusterConfiguration alone Kueue's part is as without a file") {
  const auto loaded = load_configuration(kHeader + "logFormat: text");
  REQUIRE(loaded.ok());
  CHECK(loaded->muster.log_format == LogFormat::kText);
  CHECK(loaded->kueue.effective == default_configuration().kueue.effective);
}

}  // namespace muster::configuration_muster_test
