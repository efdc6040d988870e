#include "commands/review/review.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "test/support/temporary_folder.h"

namespace review_test {

using namespace muster;
using namespace muster::commands;
using muster::test::TemporaryFile;
using nlohmann::json;

namespace {

constexpr const char* kQueuedJob = R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: team-a
  labels: {kueue.x-k8s.io/queue-name: main}
spec:
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox}]
)";

constexpr const char* kBadJobSet = R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: bad, namespace: team-a}
spec:
  groupSchedulingConfig: {timeoutAfterSeconds: 0}
  replicatedJobs:
  - name: w
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
)";

struct Ran {
  int code;
  std::string out, err;
};

// Runs with `input` as standard input.
Ran run(const std::string& input, ReviewOptions options = {}) {
  if (options.sources.files.empty() && options.sources.kustomizations.empty()) options.sources.files = {"-"};
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = review(options, {in, out, err});
  return {code, out.str(), err.str()};
}

ReviewOptions of_files(std::vector<std::string> files) {
  ReviewOptions options;
  options.sources.files = std::move(files);
  return options;
}

}  // namespace

TEST_CASE("review: prints what the API server would store") {
  const Ran ran = run(kQueuedJob);
  CHECK(ran.code == kReviewAllowed);
  CHECK(ran.err == "muster review: 1 object: 1 allowed, 0 rejected. " + std::string(kNeedsCluster) + "\n");
  CHECK(ran.out.find("suspend: true") != std::string::npos);
  CHECK(ran.out.find("name: train") != std::string::npos);
}

TEST_CASE("review: reads its own output and changes nothing the second time") {
  const Ran first = run(kQueuedJob);
  CHECK(run(first.out).out == first.out);
}

TEST_CASE("review: a rejection is one line per error with its field and exit code 1") {
  const Ran ran = run(kBadJobSet);
  CHECK(ran.code == kReviewRejected);
  CHECK(ran.out.empty());
  CHECK(ran.err.starts_with("JobSet/bad: spec.groupSchedulingConfig.timeoutAfterSeconds: Invalid value: 0: "));
}

TEST_CASE("review: the allowed ones of several documents are still printed") {
  const Ran ran = run(std::string(kBadJobSet) + "---\n" + kQueuedJob, {.format = ReviewFormat::kJson});
  CHECK(ran.code == kReviewRejected);
  CHECK(json::parse(ran.out)["metadata"]["name"] == "train");
}

TEST_CASE("review: patches are printed with the object that they belong to") {
  const Ran ran = run(kQueuedJob, {.format = ReviewFormat::kPatch});
  const json line = json::parse(ran.out);
  CHECK(line["object"] == "Job/train");
  CHECK(line["patch"] == json::parse(R"([{"op":"add","path":"/spec/suspend","value":true}])"));
}

TEST_CASE("review: Lists are expanded and a LocalQueue in the input is part of the view") {
  std::string job = kQueuedJob;
  job.erase(job.find("  labels:"), std::string("  labels: {kueue.x-k8s.io/queue-name: main}\n").size());
  CHECK(run(job).out.find("suspend") == std::string::npos);
  const std::string queue =
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kueue.x-k8s.io/v1beta2\n  kind: LocalQueue\n"
      "  metadata: {name: default, namespace: team-a}\n  spec: {clusterQueue: cq}\n";
  const Ran ran = run(queue + "---" + job);
  CHECK(ran.code == kReviewAllowed);
  CHECK(ran.out.find("kueue.x-k8s.io/queue-name: default") != std::string::npos);
  CHECK(ran.out.find("suspend: true") != std::string::npos);
}

TEST_CASE("review: a whole AdmissionReview is answered with its response") {
  json request = {{"uid", "u-7"},
                  {"operation", "CREATE"},
                  {"namespace", "team-a"},
                  {"kind", {{"group", "batch"}, {"version", "v1"}, {"kind", "Job"}}},
                  {"resource", {{"group", "batch"}, {"version", "v1"}, {"resource", "jobs"}}},
                  {"object",
                   {{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", {{"name", "j"}, {"labels", {{"kueue.x-k8s.io/queue-name", "main"}}}}},
                    {"spec", {{"parallelism", 1}, {"template", {{"spec", {{"containers", json::array()}}}}}}}}}};
  const json review = {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
  const Ran ran = run(review.dump(), {.format = ReviewFormat::kJson});
  CHECK(ran.code == kReviewAllowed);
  const json answer = json::parse(ran.out);
  CHECK(answer["response"]["uid"] == "u-7");
  CHECK(answer["response"]["allowed"] == true);
  CHECK(answer["response"]["patchType"] == "JSONPatch");
}

TEST_CASE("review: UPDATE compares with the old object") {
  std::string changed = kQueuedJob;
  changed.replace(changed.find("parallelism: 1"), 14, "suspend: false");
  std::string old_text = kQueuedJob;
  old_text.replace(old_text.find("parallelism: 1"), 14, "suspend: true");
  const TemporaryFile old_file(old_text);
  const ReviewOptions options{.operation = Operation::kUpdate, .old_file = old_file.path(), .user = "ada"};
  const Ran ran = run(changed, options);
  CHECK(ran.code == kReviewRejected);
  CHECK(ran.err.starts_with("Job/train: spec.suspend: "));

  const TemporaryFile config(
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n---\n"
      "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nadmitters: [ada]\n");
  ReviewOptions trusted = options;
  trusted.config_file = config.path();
  CHECK(run(changed, trusted).code == kReviewAllowed);
}

TEST_CASE("review: DELETE is no business of the rules") {
  const Ran ran = run(kBadJobSet, {.operation = Operation::kDelete});
  CHECK(ran.code == kReviewAllowed);
  CHECK(ran.out.empty());
}

namespace {
// Before the line that sums up.
bool has_finding(const Ran& ran) {
  return !ran.err.starts_with("muster review: 1 object: ");
}
}  // namespace

TEST_CASE("review: an object of a kind that is not queued and asks for a queue is told of or rejected") {
  const std::string ray = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, namespace: team-a";
  const std::string queued = ray + ", labels: {kueue.x-k8s.io/queue-name: main}}\n", plain = ray + "}\n";
  Ran ran = run(queued);
  CHECK(ran.code == kReviewAllowed);
  CHECK(ran.err.starts_with(
      "RayJob/r: warning: RayJob is not in integrations.frameworks of this configuration; add ray.io/rayjob. "));
  CHECK(ran.out.find("kind: RayJob") != std::string::npos);
  CHECK_FALSE(has_finding(run(plain)));
  CHECK_FALSE(has_finding(run(queued, {.operation = Operation::kDelete})));

  const TemporaryFile deny(
      "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nunqueuedKinds: Deny\n");
  ran = run(queued, {.config_file = deny.path()});
  CHECK(ran.code == kReviewRejected);
  CHECK(ran.err.starts_with("RayJob/r: Forbidden: RayJob is not in integrations.frameworks of this configuration; "));
  CHECK(ran.out.empty());

  // Another controller queues the kind.
  const TemporaryFile external(
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
      "integrations: {externalFrameworks: [RayJob.v1.ray.io]}\n---\n"
      "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\nunqueuedKinds: Deny\n");
  ran = run(queued, {.config_file = external.path()});
  CHECK(ran.code == kReviewAllowed);
  CHECK_FALSE(has_finding(ran));

  // An update that brings the label, and one that leaves it as it was.
  const TemporaryFile old_plain(plain), old_queued(queued);
  CHECK(run(queued, {.operation = Operation::kUpdate, .old_file = old_plain.path()}).err.find("warning") !=
        std::string::npos);
  CHECK_FALSE(has_finding(run(queued, {.operation = Operation::kUpdate, .old_file = old_queued.path()})));
}

TEST_CASE("review: what the API server refuses of Kubernetes' own kinds is rejected") {
  const std::string metadata = "metadata: {name: train, namespace: team-a}\n";
  const auto job_of = [](const std::string& meta, const std::string& spec, const std::string& resources) {
    return "apiVersion: batch/v1\nkind: Job\n" + meta + "spec: {" + spec +
           "template: {spec: {restartPolicy: Never, containers: [{name: main, image: b, resources: {" + resources +
           "}}]}}}\n";
  };
  struct Row {
    std::string job, error;  // empty: allowed
  };
  const std::string of_main = "spec.template.spec.containers[0].resources.";
  const Row rows[] = {
      {job_of(metadata, "parallelism: 0, completions: 2, ", "requests: {cpu: 0}, limits: {cpu: 1m}"), ""},
      {job_of("metadata: {generateName: train-, namespace: team-a}\n", "", ""), ""},
      {job_of("metadata: {generateName: A_, namespace: team-a}\n", "", ""),
       "metadata.generateName: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of"},
      {job_of(metadata, "parallelism: -5, ", ""),
       "spec.parallelism: Invalid value: -5: must be greater than or equal to 0"},
      {job_of(metadata, "backoffLimit: -1, ", ""),
       "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"},
      {job_of(metadata, "completions: many, ", ""), "spec.completions: Invalid value: \"many\": must be an integer"},
      {job_of(metadata, "", "requests: {cpu: \"-3\"}"),
       of_main + "requests[cpu]: Invalid value: \"-3\": must be greater than or equal to 0"},
      {job_of(metadata, "", "limits: {memory: -1}"),
       of_main + "limits[memory]: Invalid value: -1: must be greater than or equal to 0"},
      {job_of(metadata, "", "requests: {cpu: much}"), of_main + "requests[cpu]: Invalid value: \"much\""},
      {job_of(metadata, "", "requests: {cpu: 2}, limits: {cpu: 1500m}"),
       of_main + "requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1500m"},
      {job_of("metadata: {name: Train_1, namespace: team-a}\n", "", ""),
       "metadata.name: Invalid value: \"Train_1\": a lowercase RFC 1123 subdomain must consist of"},
      {job_of("metadata: {name: train, namespace: a.b}\n", "", ""), "metadata.namespace: Invalid value: \"a.b\""},
      {job_of("metadata: {namespace: team-a}\n", "", ""), "metadata.name: Required value"},
      {"apiVersion: apps/v1\nkind: StatefulSet\n" + metadata + "spec: {replicas: -1}\n",
       "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
      {"apiVersion: v1\nkind: Pod\n" + metadata +
           "spec: {initContainers: [{name: a, resources: {requests: {cpu: -1}}}], containers: []}\n",
       "spec.initContainers[0].resources.requests[cpu]: Invalid value: -1"},
      // Their names can have colons.
      {"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:a\"}\n", ""},
  };
  for (const Row& row : rows) {
    INFO(row.job);
    const Ran ran = run(row.job);
    CHECK(ran.code == (row.error.empty() ? kReviewAllowed : kReviewRejected));
    CHECK_MESSAGE(ran.err.find(row.error) != std::string::npos, ran.err);
  }
}

TEST_CASE("review: typing mistakes in templates are told of with their path") {
  std::string job = kQueuedJob;
  job.replace(job.find("image:"), 6, "imagee:");
  const Ran unknown = run(job);
  CHECK(unknown.code == kReviewRejected);
  CHECK(
      unknown.err.starts_with("Job/train: spec.template.spec.containers[0].imagee: Forbidden: unknown field\n"
                              "Job/train: spec.template.spec.containers[0].image: Required value\nmuster review: "));
  job = kQueuedJob;
  job.replace(job.find("busybox"), 7, "5");
  const Ran rejected = run(job);
  CHECK(rejected.code == kReviewRejected);
  CHECK(rejected.err.starts_with(
      "Job/train: spec.template.spec.containers[0].image: Invalid value: 5: must be a string\n"));
}

TEST_CASE("review: unusable input says which file and line and why") {
  struct Row {
    std::string name;
    std::string input;
    ReviewOptions options;
    const char* message;
  };
  const Row rows[] = {
      {"no file of that name", "", of_files({"/none.yaml"}), "/none.yaml: cannot be read"},
      {"a URL", "", of_files({"https://example.com/a.yaml"}), "is a URL, and muster review reads files only"},
      {"a folder without manifests", "", of_files({"/proc/self/task"}), "holds no file .json, .yaml or .yml; -R"},
      {"standard input twice", kQueuedJob, of_files({"-", "-"}), "standard input can be read only once"},
      {"a file without end", "", of_files({"/dev/zero"}), "is larger than 64 MiB"},
      {"an empty file", "# nothing\n", {}, "-: holds no object"},
      {"verbose without a table", kQueuedJob, {.verbose = true}, "it goes with -o table only"},
      {"UPDATE without old objects", kQueuedJob, {.operation = Operation::kUpdate}, "needs --old FILE"},
      {"old objects without UPDATE", kQueuedJob, {.old_file = "x.yaml"}, "--old goes with --operation UPDATE only"},
      {"a configuration that is not there", kQueuedJob, {.config_file = "/none.yaml"}, "/none.yaml"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Ran ran = run(row.input, row.options);
    CHECK(ran.code == kReviewUnusable);
    CHECK(ran.out.empty());
    INFO(ran.err);
    CHECK(ran.err.find(row.message) != std::string::npos);
  }
}

TEST_CASE("review: a document that cannot be read is a finding, and the others are judged") {
  struct Row {
    const char* name;
    std::string input, finding;
  };
  const Row rows[] = {
      {"broken YAML", "a: [1\n", "-:2: "},
      {"a scalar", "---\nhello\n", "-:2: a Kubernetes object was expected"},
      {"no kind", "apiVersion: v1\n", "-:1: kind is missing"},
      {"no apiVersion in the second document", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\nkind: Job\n",
       "-:5: apiVersion is missing"},
      {"a review without a uid", R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}})",
       "-:1: request.uid"},
      {"an item of a List", "apiVersion: v1\nkind: List\nitems:\n- kind: Job\n", "-:4: apiVersion is missing"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Ran ran = run(row.input);
    CHECK(ran.code == kReviewRejected);
    CHECK_MESSAGE(ran.err.starts_with(row.finding), ran.err);
    CHECK(ran.err.find(" 1 document cannot be read. ") != std::string::npos);
  }
  // Old objects are no findings: without them nothing can be compared.
  const TemporaryFile broken("a: [1\n");
  CHECK(run(kQueuedJob, {.operation = Operation::kUpdate, .old_file = broken.path()}).code == kReviewUnusable);
  const TemporaryFile others(kBadJobSet);
  const Ran ran = run(kQueuedJob, {.operation = Operation::kUpdate, .old_file = others.path()});
  CHECK(ran.code == kReviewRejected);
  CHECK(ran.err.starts_with("-:2: Job/train is not among the old objects; an UPDATE needs it in --old\n"));
}

TEST_CASE("review: with strict a warning is exit code 1") {
  std::string job = kQueuedJob;
  job.replace(job.find("queue-name"), 10, "queue-nam");
  const Ran plain = run(job), strict = run(job, {.strict = true});
  CHECK(plain.code == kReviewAllowed);
  CHECK(strict.code == kReviewRejected);
  CHECK(strict.err == plain.err);
  CHECK(plain.err.find(
            "metadata.labels[kueue.x-k8s.io/queue-nam]: is not known; did you mean "
            "kueue.x-k8s.io/queue-name?\nmuster review: 1 object: 1 allowed (1 with warnings), 0 rejected. ") !=
        std::string::npos);
  CHECK(run(kQueuedJob, {.strict = true}).code == kReviewAllowed);
}

}  // namespace review_test
