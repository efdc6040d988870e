// `muster review` beside the API server's own part: schemas, versions, status, and samples.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/conversion/conversion.h"
#include "commands/review/review.h"
#include "manifests/catalog.h"
#include "test/support/temporary_folder.h"

namespace review_schema_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

namespace {

constexpr const char* kOlderQueue = R"(# A queue in the older version
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  cohort: research
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: spot
      resources:
      - name: cpu
        nominalQuota: 40
        borrowingLimit: 10
)";

struct Ran {
  int code;
  std::string out, err;
};

Ran run(const std::string& input, ReviewOptions options = {}) {
  options.sources.files = {"-"};
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = review(options, {in, out, err});
  return {code, out.str(), err.str()};
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("review: v1beta1 is converted before the rules look at it") {
  const Ran ran = run(kOlderQueue, {.format = ReviewFormat::kJson});
  CHECK_MESSAGE(ran.code == kReviewAllowed, ran.err);
  const json stored = json::parse(ran.out);
  CHECK(stored["apiVersion"] == "kueue.x-k8s.io/v1beta2");
  CHECK(stored["spec"]["cohortName"] == "research");
  CHECK_FALSE(stored.contains("status"));
}

TEST_CASE("review: an error of a converted object says so, and one of its schema names the field as written") {
  const Ran alone = run(replaced(kOlderQueue, "  cohort: research\n", ""));
  CHECK(alone.code == kReviewRejected);
  CHECK(
      has(alone.err,
          "ClusterQueue/team: spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: \"10\": "
          "must be nil when cohort is empty (named as in kueue.x-k8s.io/v1beta2, to which the object was converted)"));
  const Ran schema = run(replaced(kOlderQueue, "cohort: research", "cohort: Research"));
  CHECK(schema.code == kReviewRejected);
  CHECK(
      has(schema.err, "ClusterQueue/team: spec.cohort: Invalid value: \"Research\": spec.cohort in body should match"));
  CHECK_FALSE(has(schema.err, "named as in"));
}

TEST_CASE("review: what the schema refuses is rejected, and said once") {
  struct Row {
    const char* part;
    const char* by;
    const char* message;
  };
  const Row rows[] = {
      {"cohort: research", "cohortName: research",
       "spec.cohortName: Forbidden: unknown field; did you mean \"cohort\"?"},
      {"nominalQuota: 40", "nominalQuota: forty", "nominalQuota in body should match"},
      {"nominalQuota: 40", "nominalQuota: [40]", "must be of type integer,string: \"array\""},
      {"- name: cpu\n", "- Name: cpu\n", "resources[0].name: Required value"},
      {"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha1",
       "apiVersion: Unsupported value: \"kueue.x-k8s.io/v1alpha1\": supported values: \"kueue.x-k8s.io/v1beta1\", "
       "\"kueue.x-k8s.io/v1beta2\""},
      {"name: team", "name: team, namespace: a", "metadata.namespace: Forbidden: not allowed on this type"},
      {"  namespaceSelector: {}", "  namespaceSelector: text", "must be of type object: \"string\""},
  };
  for (const Row& row : rows) {
    const Ran ran = run(replaced(kOlderQueue, row.part, row.by));
    INFO(ran.err);
    CHECK(ran.code == kReviewRejected);
    CHECK(has(ran.err, row.message));
    CHECK(ran.out.empty());
  }
}

TEST_CASE("review: a kind of the queue API that muster does not have is warned of") {
  const Ran ran = run("apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueCluster\nmetadata: {name: a}\n");
  CHECK(ran.code == kReviewAllowed);
  CHECK(has(ran.err, "MultiKueueCluster/a: warning: muster has no kind MultiKueueCluster in kueue.x-k8s.io"));
}

TEST_CASE("review: an update is compared across versions, and keeps the stored status") {
  const std::string stored =
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: a}\n"
      "spec: {clusterQueue: one}\nstatus: {pendingWorkloads: 3}\n";
  const test::TemporaryFile old(stored);
  const std::string changed =
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: q, namespace: a}\n"
      "spec: {clusterQueue: one, stopPolicy: Hold}\nstatus: {pendingWorkloads: 9}\n";
  const ReviewOptions update{.format = ReviewFormat::kJson, .operation = Operation::kUpdate, .old_file = old.path()};
  const Ran ran = run(changed, update);
  CHECK_MESSAGE(ran.code == kReviewAllowed, ran.err);
  CHECK(json::parse(ran.out)["status"]["pendingWorkloads"] == 3);
  CHECK(json::parse(ran.out)["spec"]["stopPolicy"] == "Hold");
  const Ran moved = run(replaced(changed, "clusterQueue: one", "clusterQueue: two"), update);
  CHECK(moved.code == kReviewRejected);
  CHECK(has(moved.err, "LocalQueue/q: spec.clusterQueue: Invalid value: \"two\": field is immutable"));
}

TEST_CASE("review: JobSets of another controller have that controller's schema") {
  const char* jobset =
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: j}\n"
      "spec: {newField: 1, replicatedJobs: [{name: a, template: {spec: {template: {spec: {}}}}}]}\n";
  CHECK(has(run(jobset).err, "spec.newField: Forbidden: unknown field"));
  const test::TemporaryFile config(
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n---\n"
      "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\njobSetController: external\n");
  const Ran external = run(jobset, {.config_file = config.path()});
  CHECK_FALSE(has(external.err, "unknown field"));
}

TEST_CASE("review: every sample is allowed, in both versions of the queue API") {
  std::string newer, older;
  for (const json& sample : manifests::manifests(manifests::ManifestSet::kSamples, {.serves_v1beta1 = true}))
    newer += "---\n" + write_yaml(sample);
  for (json sample : manifests::manifests(manifests::ManifestSet::kSamples, {})) {
    CHECK(string_at(sample, {"apiVersion"}) != "kueue.x-k8s.io/v1beta1");
    if (string_at(sample, {"apiVersion"}) == "kueue.x-k8s.io/v1beta2") {
      const std::string_view kind = string_at(sample, {"kind"});
      // Both versions have the same fields.
      if (kind == "ResourceFlavor" || kind == "AdmissionCheck")
        sample["apiVersion"] = "kueue.x-k8s.io/v1beta1";
      else
        REQUIRE(convert_object(sample, QueueVersion::kV1Beta1).ok());
    }
    older += "---\n" + write_yaml(sample);
  }
  for (const std::string& samples : {newer, older}) {
    const Ran ran = run(samples);
    CHECK_MESSAGE(ran.code == kReviewAllowed, ran.err);
    // Its own output is allowed as well, and nothing changes any more.
    const Ran again = run(ran.out);
    CHECK_MESSAGE(again.code == kReviewAllowed, again.err);
    CHECK(again.out == ran.out);
  }
}

}  // namespace review_schema_test
