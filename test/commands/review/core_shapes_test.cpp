// What the API server would refuse of Jobs, CronJobs, pods and the Jobs of a JobSet, and of kinds that it does not
// have.
#include "commands/review/core_shapes.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "api/codec/yaml.h"
#include "commands/review/review.h"

namespace core_shapes_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

namespace {

struct Ran {
  int code;
  std::string err;
};

Ran run(const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  ReviewOptions options;
  options.sources.files = {"-"};
  const int code = review(options, {in, out, err});
  return {code, err.str()};
}

// The findings without the name of the object, and without the summary.
std::string findings_of(const std::string& input) {
  const Ran ran = run(input);
  std::istringstream lines(ran.err);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("muster review: ")) all += (all.empty() ? "" : "; ") + line.substr(line.find(": ") + 2);
  }
  return all;
}

json job_spec(const char* patch) {
  json spec = {
      {"template", {{"spec", {{"restartPolicy", "Never"}, {"containers", {{{"name", "a"}, {"image", "b"}}}}}}}}};
  spec.merge_patch(json::parse(patch));
  return spec;
}

json object(const char* api_version, const char* kind, json spec) {
  return {{"apiVersion", api_version},
          {"kind", kind},
          {"metadata", {{"name", "x"}, {"namespace", "t"}}},
          {"spec", std::move(spec)}};
}

json cron_job(const char* patch, json of_job) {
  json spec = {{"schedule", "0 2 * * *"}, {"jobTemplate", {{"spec", std::move(of_job)}}}};
  spec.merge_patch(json::parse(patch));
  return object("batch/v1", "CronJob", std::move(spec));
}

}  // namespace

TEST_CASE("review: the shape of Kubernetes' own kinds is checked") {
  struct Row {
    json input;
    std::string findings;  // empty: allowed
  };
  const std::string pod = "spec.template.spec.", container = pod + "containers[0].";
  const auto job = [](const char* patch) { return object("batch/v1", "Job", job_spec(patch)); };
  const auto job_of = [&](const char* container_patch) {
    json spec = job_spec("{}");
    spec["template"]["spec"]["containers"][0].merge_patch(json::parse(container_patch));
    return object("batch/v1", "Job", std::move(spec));
  };
  const Row rows[] = {
      {job("{}"), ""},
      {job(R"({"paralelism": 3})"), "spec.paralelism: Forbidden: unknown field"},
      {job(R"({"suspend": "yes"})"), "spec.suspend: Invalid value: \"yes\": must be true or false"},
      {job(R"({"completionMode": "indexed"})"),
       "spec.completionMode: Unsupported value: \"indexed\": supported values: \"Indexed\", \"NonIndexed\""},
      {job(R"({"completionMode": "Indexed"})"), ""},
      {job(R"({"completionMode": "Indexed", "parallelism": 2})"),
       "spec.completions: Required value: when completion mode is Indexed"},
      {job(R"({"completionMode": "Indexed", "completions": 2})"), ""},
      {job(R"({"template": null})"), pod + "containers: Required value; " + pod +
                                         "restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
      {job(R"({"template": {"spec": {"restartPolicy": "Always"}}})"),
       pod + "restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
      {job(R"({"template": {"spec": {"containers": []}}})"), pod + "containers: Required value"},
      {job(R"({"template": {"spec": {"containers": {"name": "a"}}}})"),
       pod + "containers: Invalid value: {\"name\":\"a\"}: must be a list"},
      {job_of(R"({"image": null})"), container + "image: Required value"},
      {job_of(R"({"name": null})"), container + "name: Required value"},
      {job_of(R"({"imagePullPolicy": "always"})"),
       container +
           "imagePullPolicy: Unsupported value: \"always\": supported values: \"Always\", \"IfNotPresent\", \"Never\""},
      {job_of(R"({"env": [{"value": "x"}]})"), container + "env[0].name: Required value"},
      {job_of(R"({"env": [{"name": "A", "value": 5}]})"),
       container + "env[0].value: Invalid value: 5: must be a string"},
      {job_of(R"({"ports": [{"name": "http"}]})"), container + "ports[0].containerPort: Required value"},
      {job_of(R"({"volumeMounts": [{"name": "data", "mountPath": "/d"}]})"),
       container + "volumeMounts[0].name: Not found: \"data\""},
      {job_of(R"({"resources": {"requests": {"cpu": "abc"}}})"),
       container + "resources.requests[cpu]: Invalid value: \"abc\": quantities must match the regular expression "
                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {cron_job("{}", job_spec("{}")), ""},
      {cron_job(R"({"schedule": "@daily"})", job_spec("{}")), ""},
      {cron_job(R"({"schedule": null})", job_spec("{}")), "spec.schedule: Required value"},
      {cron_job(R"({"schedule": "daily"})", job_spec("{}")),
       "spec.schedule: Invalid value: \"daily\": expected exactly 5 fields, found 1: minute, hour, day of month, "
       "month, "
       "day of week"},
      {cron_job(R"({"concurencyPolicy": "Forbid"})", job_spec("{}")),
       "spec.concurencyPolicy: Forbidden: unknown field"},
      {cron_job(R"({"concurrencyPolicy": "forbid"})", job_spec("{}")),
       "spec.concurrencyPolicy: Unsupported value: \"forbid\": supported values: \"Allow\", \"Forbid\", \"Replace\""},
      {cron_job("{}", job_spec(R"({"template": {"spec": {"containers": null}}})")),
       "spec.jobTemplate.spec.template.spec.containers: Required value"},
      {object("v1", "Pod", {{"containers", {{{"name", "a"}, {"image", "b"}}}}}), ""},
      {object("v1", "Pod", {{"restartPolicy", "never"}, {"containers", {{{"name", "a"}, {"image", "b"}}}}}),
       "spec.restartPolicy: Unsupported value: \"never\": supported values: \"Always\", \"OnFailure\", \"Never\""},
      {object("v1", "Pod", json::object()), "spec.containers: Required value"},
  };
  for (const Row& row : rows) {
    INFO(row.input.dump());
    CHECK(findings_of(row.input.dump()) == row.findings);
  }
}

TEST_CASE("review: the quantities and the shape of a CronJob's and a JobSet's pods are checked") {
  json broken = job_spec("{}");
  broken["template"]["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "abc"}}}};
  const std::string quantity = "template.spec.containers[0].resources.requests[cpu]: Invalid value: \"abc\"";
  CHECK(findings_of(cron_job("{}", broken).dump()).starts_with("spec.jobTemplate.spec." + quantity));
  const auto jobset = [](json of_job) {
    return object("jobset.x-k8s.io/v1alpha2", "JobSet",
                  {{"replicatedJobs", {{{"name", "w"}, {"template", {{"spec", std::move(of_job)}}}}}}});
  };
  CHECK(findings_of(jobset(broken).dump()).starts_with("spec.replicatedJobs[0].template.spec." + quantity));
  CHECK(findings_of(jobset(job_spec(R"({"template": {"spec": {"containers": [{"name": "a"}]}}})")).dump()) ==
        "spec.replicatedJobs[0].template.spec.template.spec.containers[0].image: Required value");
  CHECK(findings_of(jobset(job_spec("{}")).dump()).empty());
}

TEST_CASE("review: a kind that no API server has is rejected, with the kind that was meant") {
  struct Row {
    const char *api_version, *kind;
    std::string why;  // empty: there can be such a kind
  };
  const Row rows[] = {
      {"batch/v1", "Job", ""},
      {"batch/v1", "job", "no matches for kind \"job\" in version \"batch/v1\"; did you mean \"Job\"?"},
      {"batch/v1", "Cronjob", "no matches for kind \"Cronjob\" in version \"batch/v1\"; did you mean \"CronJob\"?"},
      {"batch/v1beta1", "CronJob",
       "no matches for kind \"CronJob\" in version \"batch/v1beta1\"; it is of apiVersion batch/v1"},
      {"v1", "Job", "no matches for kind \"Job\" in version \"v1\"; Job is of apiVersion batch/v1"},
      {"v1", "ConfigMap", ""},
      {"batch/v1", "JobSet",
       "no matches for kind \"JobSet\" in version \"batch/v1\"; JobSet is of apiVersion "
       "jobset.x-k8s.io/v1alpha2"},
      {"jobset.x-k8s.io/v1alpha2", "Jobset",
       "no matches for kind \"Jobset\" in version \"jobset.x-k8s.io/v1alpha2\"; did you mean \"JobSet\"?"},
      {"kueue.x-k8s.io/v1beta2", "LocalQueu",
       "no matches for kind \"LocalQueu\" in version \"kueue.x-k8s.io/v1beta2\"; did you mean \"LocalQueue\"?"},
      {"kueue.x-k8s.io/v1beta2", "Topology", ""},
      {"ray.io/v1", "rayjob", "no matches for kind \"rayjob\" in version \"ray.io/v1\"; did you mean \"RayJob\"?"},
      {"ray.io/v1", "RayCronJob", ""},
      {"kubeflow.org/v1", "MXJob", ""},
      {"example.com/v1", "job", ""},
  };
  for (const Row& row : rows) {
    INFO(row.api_version, " ", row.kind);
    const auto why = why_no_kind({{"apiVersion", row.api_version}, {"kind", row.kind}});
    CHECK(why.value_or("") == row.why);
  }
  const Ran ran = run("apiVersion: batch/v1\nkind: job\nmetadata: {name: a}\n");
  CHECK(ran.code == kReviewRejected);
  CHECK(
      ran.err.starts_with("job/a: kind: no matches for kind \"job\" in version \"batch/v1\"; did you mean \"Job\"?\n"));
}

TEST_CASE("review: a CronJob with the queue on itself is warned about") {
  json misplaced = cron_job("{}", job_spec("{}"));
  misplaced["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "main"}};
  const Ran warned = run(misplaced.dump());
  CHECK(warned.code == kReviewAllowed);
  CHECK(
      warned.err.starts_with("CronJob/x: warning: metadata.labels[kueue.x-k8s.io/queue-name]: the label "
                             "kueue.x-k8s.io/queue-name of a CronJob has no effect: "));
  misplaced["spec"]["jobTemplate"]["metadata"] = misplaced["metadata"];
  CHECK(findings_of(misplaced.dump()).empty());
}

}  // namespace core_shapes_test
