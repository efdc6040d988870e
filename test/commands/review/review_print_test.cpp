// The formats of `muster review`, and where its input comes from.
#include "commands/review/review_print.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/review/review.h"
#include "test/support/sarif.h"
#include "test/support/temporary_folder.h"

namespace review_print_test {

using namespace muster;
using namespace muster::commands;
using muster::test::TemporaryFolder;
using nlohmann::json;

namespace {

constexpr const char* kFlavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: spot}\n";
constexpr const char* kWrongQueue =
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: q\n  namespace: a\nspec:\n"
    "  clusterQueue: cq\n  stopPolicy: Later\n";

struct Ran {
  int code;
  std::string out, err;
};

Ran run(const SourceNames& sources, ReviewFormat format = ReviewFormat::kYaml, const std::string& input = "",
        bool verbose = false) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = review({.sources = sources, .format = format, .verbose = verbose}, {in, out, err});
  return {code, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("review: a table has a line for each finding, with file and line, and begins with what is rejected") {
  TemporaryFolder folder;
  const std::string warned =
      "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
      "q}}\n";
  const std::string file = folder.write("all.yaml", std::string(kFlavor) + "---\n" + warned + "---\n" + kWrongQueue);
  const auto lines_of = [](const Ran& ran) {
    std::vector<std::string> lines;
    std::istringstream text(ran.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  };
  const Ran ran = run({.files = {file}}, ReviewFormat::kTable);
  CHECK(ran.code == kReviewRejected);
  CHECK(ran.err.empty());
  const auto lines = lines_of(ran);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("RESULT    OBJECT        PLACE"));
  CHECK(lines[1].starts_with("rejected  LocalQueue/q  " + file + ":16  spec.stopPolicy: Unsupported value"));
  CHECK(
      lines[2].starts_with("warning   DaemonSet/d   " + file + ":5   muster does not queue objects of kind DaemonSet"));
  CHECK(lines[3].starts_with("3 objects: 2 allowed (1 with warnings), 1 rejected. Not checked without a cluster: "));

  const auto all = lines_of(run({.files = {file}}, ReviewFormat::kTable, "", true));
  REQUIRE(all.size() == 5);
  CHECK(all[3] == "allowed   ResourceFlavor/spot  " + file + ":1");
  // Nothing to say: no table.
  const auto none = lines_of(run({.files = {"-"}}, ReviewFormat::kTable, kFlavor));
  REQUIRE(none.size() == 1);
  CHECK(none[0].starts_with("1 object: 1 allowed, 0 rejected. "));
}

TEST_CASE("review: one broken file of eight is one finding in each format") {
  TemporaryFolder folder;
  for (int i = 0; i < 7; ++i) folder.write("flavor" + std::to_string(i) + ".yaml", kFlavor);
  const std::string broken = folder.write("broken.yaml", "a: 1\nb: [1,\n");
  const auto in = [&](ReviewFormat format) { return run({.files = {folder.path().string()}}, format); };
  const std::string counts = "7 objects: 7 allowed, 0 rejected. 1 document cannot be read. ";
  for (const ReviewFormat format : {ReviewFormat::kYaml, ReviewFormat::kJson, ReviewFormat::kTable,
                                    ReviewFormat::kSarif, ReviewFormat::kJunit, ReviewFormat::kPatch}) {
    const Ran ran = in(format);
    CHECK(ran.code == kReviewRejected);
    const std::string text = ran.out + ran.err;
    CHECK_MESSAGE(has(text, counts), text);
  }
  CHECK(has(in(ReviewFormat::kYaml).err, broken + ":3: "));
  CHECK(has(in(ReviewFormat::kTable).out, "rejected  -       " + broken + ":3  "));
  std::istringstream lines(in(ReviewFormat::kJson).out);
  size_t printed = 0;
  for (std::string line; std::getline(lines, line); ++printed) CHECK(json::parse(line)["kind"] == "ResourceFlavor");
  CHECK(printed == 7);

  const json log = json::parse(in(ReviewFormat::kSarif).out);
  CHECK(muster::test::SarifCheck::problems(log).empty());
  REQUIRE(log["runs"][0]["results"].size() == 1);
  const json& result = log["runs"][0]["results"][0];
  CHECK(result["ruleId"] == "input");
  const json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "file://" + broken);
  CHECK(place["region"]["startLine"] == 3);

  const std::string junit = in(ReviewFormat::kJunit).out;
  CHECK(has(junit, "tests=\"8\" failures=\"1\""));
  CHECK(has(junit, "name=\"" + broken + "\""));
}

TEST_CASE("review: a file without an object is a warning beside others") {
  TemporaryFolder folder;
  const std::string empty = folder.write("empty.yaml", "# nothing\n"), flavor = folder.write("flavor.yaml", kFlavor);
  const Ran ran = run({.files = {empty, flavor}}, ReviewFormat::kTable);
  CHECK(ran.code == kReviewAllowed);
  CHECK(has(ran.out, "warning  -       " + empty + "  holds no object\n"));
  CHECK(has(ran.out, "1 object: 1 allowed, 0 rejected. Not checked"));
}

TEST_CASE("review: SARIF has a rule, a level, a message and a place for each finding") {
  TemporaryFolder folder;
  const std::string file = folder.write("a b.yaml", kWrongQueue);
  const Ran ran = run({.files = {file}}, ReviewFormat::kSarif);
  CHECK(ran.code == kReviewRejected);
  const json log = json::parse(ran.out);
  CHECK(log["version"] == "2.1.0");
  const json& only = log["runs"].at(0);
  CHECK(only["tool"]["driver"]["name"] == "muster review");
  CHECK(only["tool"]["driver"]["rules"] == json::parse(R"([{"id": "schema"}])"));
  CHECK(only["invocations"][0]["executionSuccessful"] == true);
  REQUIRE(only["results"].size() == 1);
  const json& result = only["results"][0];
  CHECK(result["ruleId"] == "schema");
  CHECK(result["level"] == "error");
  CHECK(has(result["message"]["text"], "LocalQueue/q: spec.stopPolicy: Unsupported value: \"Later\""));
  const json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "file://" + folder / "a%20b.yaml");
  CHECK(place["region"]["startLine"] == 8);
}

TEST_CASE("review: a SARIF log has what its specification requires and nothing that it does not know") {
  const char* inputs[] = {kWrongQueue, kFlavor, "kind: A<\\u0001&\napiVersion: v1\nmetadata: {name: x}\n",
                          "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r, labels: "
                          "{kueue.x-k8s.io/queue-name: q}}}"};
  TemporaryFolder folder;
  for (const char* input : inputs) {
    for (const char* name : {"plain.yaml", "a b%20c#d?e[f]:g\\h.yaml", "\xC3\xA4.yaml"}) {
      const std::string file = folder.write(name, input);
      const Ran ran = run({.files = {file}}, ReviewFormat::kSarif);
      CHECK(ran.code != kReviewUnusable);
      for (const std::string& problem : muster::test::SarifCheck::problems(json::parse(ran.out))) FAIL_CHECK(problem);
    }
  }
}

TEST_CASE("review: what SARIF does not allow is found") {
  TemporaryFolder folder;
  const json good = json::parse(run({.files = {folder.write("a.yaml", kWrongQueue)}}, ReviewFormat::kSarif).out);
  const auto problems = [&](const char* pointer, const json& value) {
    json log = good;
    log[json::json_pointer(pointer)] = value;
    return muster::test::SarifCheck::problems(log).size();
  };
  CHECK(muster::test::SarifCheck::problems(good).empty());
  CHECK(problems("/version", "2.1") == 1);
  CHECK(problems("/runs/0/tool/driver/name", "") == 1);
  CHECK(problems("/runs/0/tool/driver/rules", json::array()) == 1);
  CHECK(problems("/runs/0/results/0/level", "fatal") == 1);
  CHECK(problems("/runs/0/results/0/severity", "high") == 1);
  CHECK(problems("/runs/0/results/0/message", json::object()) == 1);
  const std::string place = "/runs/0/results/0/locations/0/physicalLocation";
  CHECK(problems((place + "/region/startLine").c_str(), 0) == 1);
  CHECK(problems((place + "/artifactLocation/uri").c_str(), "a b") == 1);
  CHECK(problems("/runs/0/invocations/0/executionSuccessful", "yes") == 1);
}

TEST_CASE("review: JUnit has a test case for each object, and no character that XML refuses") {
  const Ran ran = run({.files = {"-"}}, ReviewFormat::kJunit,
                      std::string(kFlavor) + "---\n" + kWrongQueue +
                          "---\n{\"apiVersion\":\"v1\",\"kind\":\"A<\\u0001&\\\"\","
                          "\"metadata\":{\"name\":\"x\"}}\n");
  CHECK(ran.code == kReviewRejected);
  CHECK(
      ran.out.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"muster review\" "
                          "tests=\"3\" failures=\"2\">"));
  CHECK(has(ran.out, "<testcase classname=\"-\" name=\"ResourceFlavor/spot\" file=\"-\" line=\"1\"/>"));
  CHECK(has(ran.out, "<failure type=\"rejected\" message=\"spec.stopPolicy: Unsupported value: &quot;Later&quot;"));
  CHECK(has(ran.out, "-:12: spec.stopPolicy"));
  CHECK(has(ran.out, "name=\"A&lt;\xEF\xBF\xBD&amp;&quot;/x\""));
  CHECK(ran.out.ends_with("</testsuites>\n"));
  size_t opened = 0, closed = 0;
  for (size_t at = 0; (at = ran.out.find("<test", at)) != std::string::npos; ++at) ++opened;
  for (size_t at = 0; (at = ran.out.find("</test", at)) != std::string::npos; ++at) ++closed;
  for (size_t at = 0; (at = ran.out.find("\"/>", at)) != std::string::npos; ++at) ++closed;
  CHECK(opened == closed);
}

TEST_CASE("review: names cannot steer a terminal") {
  const Ran ran = run({.files = {"-"}}, ReviewFormat::kTable,
                      R"({"apiVersion":"v1","kind":"A","metadata":{"name":"x\u001b[2J\ny"}})");
  CHECK(has(ran.out, "A/x\\x1b[2J\\x0ay"));
}

TEST_CASE("review: a folder is read as kubectl reads it") {
  TemporaryFolder folder;
  folder.write("b.yml", kFlavor);
  folder.write("a.json", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})");
  folder.write("notes.txt", "not: [read");
  folder.write("empty.yaml", "# nothing\n");
  folder.write("kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n");
  folder.write("below/c.yaml", kWrongQueue);
  const Ran flat = run({.files = {folder.path().string()}}, ReviewFormat::kTable, "", true);
  CHECK(flat.code == kReviewAllowed);
  CHECK(has(flat.out, "2 objects: 2 allowed"));
  CHECK(flat.out.find("Namespace/n") < flat.out.find("ResourceFlavor/spot"));
  const Ran deep = run({.files = {folder.path().string()}, .recursive = true}, ReviewFormat::kTable);
  CHECK(deep.code == kReviewRejected);
  CHECK(has(deep.out, "3 objects: 2 allowed, 1 rejected"));
}

TEST_CASE("review: the folder of the working directory ends with a code, not with a signal") {
  const Ran ran = run({.files = {"."}});
  CHECK(ran.code >= 0);
  CHECK(ran.code <= 2);
}

TEST_CASE("review: a kustomization is built by the program that is there") {
  TemporaryFolder programs;
  const std::string kustomize = programs.write("kustomize", "#!/bin/sh\necho \"name: $1 $2\"\n");
  REQUIRE(::chmod(kustomize.c_str(), 0755) == 0);
  CHECK(*build_kustomization("some folder", "/none:" + programs.path().string()) == "name: build some folder\n");
  CHECK(*build_kustomization("-x", programs.path().string()) == "name: build ./-x\n");
  const std::string kubectl = programs.write("kubectl", "#!/bin/sh\necho half\necho no such folder >&2\nexit 1\n");
  REQUIRE(::chmod(kubectl.c_str(), 0755) == 0);
  const std::string failure = build_kustomization("f", programs.path().string()).error().message;
  CHECK(has(failure, "-k f: kubectl kustomize f failed"));
  CHECK(has(failure, "exited with 1: no such folder"));
  CHECK(has(build_kustomization("f", "/none").error().message, "-k f: needs kubectl or kustomize in PATH"));
}

TEST_CASE("review: lines are those of the fields, in Lists and behind anchors too") {
  const std::string list =
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kueue.x-k8s.io/v1beta2\n  kind: LocalQueue\n"
      "  metadata: {name: q, namespace: a}\n  spec:\n    clusterQueue: cq\n    stopPolicy: Later\n";
  CHECK(has(run({.files = {"-"}}, ReviewFormat::kTable, list).out, "-:9    spec.stopPolicy"));
  const std::string nothing_written =
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  resourceGroups:\n"
      "  - coveredResources: [cpu]\n    flavors:\n    - name: f\n";
  CHECK(has(run({.files = {"-"}}, ReviewFormat::kTable, nothing_written).out,
            "-:8    spec.resourceGroups[0].flavors[0].resources: Required value"));
}

TEST_CASE("review: an open bracket is said to begin where it begins") {
  const Ran ran = run({.files = {"-"}}, ReviewFormat::kYaml, "a: 1\nb: [1,\n  2,\nc: 3\nd: 4\n");
  CHECK(ran.code == kReviewRejected);
  CHECK_MESSAGE(has(ran.err, "begins in line 2"), ran.err);
}

}  // namespace review_print_test
