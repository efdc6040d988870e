// `muster simulate` as it is called: files in, tables and exit codes out.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/codec/yaml.h"
#include "test/commands/simulate/called.h"
#include "test/support/files.h"
#include "test/support/vectors.h"

namespace simulate_test {

using namespace muster;
using namespace muster::test;
using nlohmann::json;

TEST_CASE("simulate: waits, usage, evictions and who waits are told") {
  const Platform platform;
  const Answer answer = simulate({"-f", platform.path("a")});
  CHECK(answer.err == "");
  CHECK(answer.code == 0);
  for (const char* part : {"6 jobs in", "6 finished", "team/blue", "team/red", "on-demand",
                           "evicted: "
                           "Preempted/InCohortReclamation"}) {
    INFO(answer.out);
    CHECK(answer.out.find(part) != std::string::npos);
  }
}

TEST_CASE("simulate: the what-if of the samples gives the figures that its page shows") {
  const std::string folder = std::string(MUSTER_SOURCE_DIR) + "/manifests/samples/what-if/";
  const TemporaryFolder output;
  const Answer answer = simulate({"-f", folder + "today", "--compare", folder + "proposal", "--arrivals",
                                  folder + "jobs.csv", "--html", output / "what-if.html"});
  CHECK(answer.err == "");
  CHECK(answer.code == 0);
  // The columns are as wide as the names of the folders.
  const auto words_of_rows = [](const std::string& text) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      rows.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
    return rows;
  };
  std::vector<std::vector<std::string>> rows = words_of_rows(answer.out);
  REQUIRE(rows.size() > 10);
  const std::vector<std::vector<std::string>> page = words_of_rows(read_source_file("docs/simulate.md"));
  CHECK(std::search(page.begin(), page.end(), rows.begin() + 1, rows.end()) != page.end());
}

TEST_CASE("simulate: the same input gives the same bytes, also by chance") {
  const Platform platform;
  for (const char* seed : {"1", "2", "77"}) {
    for (const char* format : {"json", "csv", "table"}) {
      const std::vector<std::string> arguments = {"-f",  platform.path("a"), "--seed", seed, "--jobs",
                                                  "300", "--over",           "24h",    "-o", format};
      const Answer first = simulate(arguments);
      CHECK(first.code == 0);
      CHECK(first.out.size() > 100);
      CHECK(simulate(arguments).out == first.out);
    }
  }
  const auto of_seed = [&](const char* seed) {
    return simulate({"-f", platform.path("a"), "--seed", seed, "--jobs", "300", "--over", "24h", "-o", "csv"}).out;
  };
  CHECK(of_seed("1") != of_seed("2"));
}

TEST_CASE("simulate: a List as kubectl prints it is input, and standard input too") {
  const Platform platform;
  json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
  for (const std::string& text : {kQueues, kTwoJobs}) {
    const auto documents = read_yaml(text);
    REQUIRE(documents.ok());
    for (const YamlDocument& document : *documents) {
      if (document.value.is_object()) list["items"].push_back(document.value);
    }
  }
  const Answer answer = simulate({"-f", "-", "-o", "csv"}, write_yaml(list));
  CHECK(answer.err == "");
  CHECK(answer.out ==
        simulate({"-f", platform.path("a/queues.yaml"), "-f", platform.path("a/jobs.yaml"), "-o", "csv"}).out);
}

TEST_CASE("simulate: bad input is refused with file, path and sentence, and nothing is printed") {
  const Platform platform;
  const auto refused = [&](const std::string& text) {
    const std::string file = platform.folder.write("bad.yaml", text);
    const Answer answer = simulate({"-f", platform.path("a"), "-f", file});
    CHECK(answer.code == 2);
    CHECK(answer.out == "");
    return answer.err;
  };
  CHECK(refused("kind: [").find("bad.yaml") != std::string::npos);
  const std::string unknown = refused(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: x}\nspec:\n  nominalQuota: 7\n");
  CHECK(unknown.find("bad.yaml:5: ClusterQueue/x: spec.nominalQuota") != std::string::npos);
  CHECK(refused(job("j", "red", 1, "simulate.muster.batch/run-time: soon")).find("must be a duration") !=
        std::string::npos);
  CHECK(refused(job("j", "Red!", 1, "")).find("bad.yaml") != std::string::npos);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"-f", platform.path("nothing")},
                                             {"-f", platform.path("a"), "--jobs", "5"},
                                             {"-f", platform.path("a"), "--over", "5h"},
                                             {"-f", platform.path("a"), "--until", "0s"},
                                             {"-f", platform.path("a"), "--stop-time", "0s"},
                                             {"-f", platform.path("a"), "-o", "junit"},
                                             {"-f", platform.path("a"), "-o", "xml"},
                                             {"-f", platform.path("a"), "--spread", "9"},
                                             {"-f", platform.path("a/queues.yaml")}}) {
    const Answer answer = simulate(arguments);
    INFO(answer.err);
    CHECK(answer.code == 2);
    CHECK(answer.out == "");
    CHECK(answer.err.size() > 20);
  }
}

TEST_CASE("simulate: amounts read alike in the table and on the page, and stay exact for programs") {
  std::string queues = kQueues;
  for (size_t at = 0; (at = queues.find("nominalQuota: 10", at)) != std::string::npos; ++at)
    queues.replace(at, 16, "nominalQuota: 99626m");
  const TemporaryFolder folder;
  folder.write("a/queues.yaml", queues);
  folder.write("a/jobs.yaml", kTwoJobs);
  const Answer answer = simulate({"-f", folder / "a", "--html", folder / "page.html"});
  INFO(answer.err << answer.out);
  REQUIRE(answer.code == 0);
  CHECK(answer.out.find("  199.252  ") != std::string::npos);
  CHECK(answer.out.find("99626m") == std::string::npos);
  CHECK(test::read_file(folder / "page.html").find("nominal quota 199.252") != std::string::npos);
  CHECK(json::parse(simulate({"-f", folder / "a", "-o", "json"}).out)["flavors"][0]["nominal"] == "199252m");
}

TEST_CASE("simulate: json and yaml say the same") {
  const Platform platform;
  const json as_json = json::parse(simulate({"-f", platform.path("a"), "-o", "json"}).out);
  const auto as_yaml = read_yaml(simulate({"-f", platform.path("a"), "-o", "yaml"}).out);
  REQUIRE(as_yaml.ok());
  CHECK(as_yaml->front().value == as_json);
  CHECK(as_json["jobs"]["all"] == 6);
  CHECK(as_json["jobs"]["finished"] == 6);
  CHECK(as_json["evictions"][0]["reason"] == "Preempted/InCohortReclamation");
  CHECK(as_json["queues"].size() == 2);
}

TEST_CASE("simulate: expectations are checked, and each that fails is named") {
  const Platform platform;
  const auto expect = [&](const std::string& text, std::vector<std::string> more = {}) {
    const std::string file = platform.folder.write("expect.yaml", text);
    more.insert(more.begin(), {"-f", platform.path("a"), "--expect", file});
    return simulate(more);
  };
  const Answer good = expect(
      "expect:\n- queue: team/red\n  waitP99AtMost: 10m\n- job: team/big\n  startsWithin: 1m\n  runsOn: on-demand\n"
      "- flavor: on-demand\n  resource: cpu\n  meanUsageAtLeast: 0.1\n- finishedAtLeast: 6\n  neverStartedAtMost: 0\n");
  INFO(good.err << good.out);
  CHECK(good.code == 0);
  CHECK(good.out.find("FAILS") == std::string::npos);
  const Answer bad = expect("expect:\n- clusterQueue: red\n  evictionsAtMost: 0\n  finishedAtLeast: 5\n");
  CHECK(bad.code == 1);
  CHECK(bad.out.find("FAILS: expect[0]: ClusterQueue red: evictionsAtMost 0 (evictions: ") != std::string::npos);
  CHECK(bad.out.find("holds: expect[0]: ClusterQueue red: finishedAtLeast 5") != std::string::npos);
  const Answer junit =
      expect("expect:\n- clusterQueue: red\n  evictionsAtMost: 0\n  finishedAtLeast: 5\n", {"-o", "junit"});
  CHECK(junit.code == 1);
  CHECK(junit.out.find("tests=\"2\" failures=\"1\"") != std::string::npos);
  CHECK(junit.out.find("<failure type=\"expectation\"") != std::string::npos);

  // A mistake in the file is no assertion that holds.
  for (const char* wrong :
       {"expect: []\n", "expects:\n- queue: team/red\n", "expect:\n- queue: team/red\n",
        "expect:\n- queue: team/red\n  waitP99AtMots: 1m\n", "expect:\n- queue: team/gone\n  waitP99AtMost: 1m\n",
        "expect:\n- job: team/gone\n  startsWithin: 1m\n", "expect:\n- job: team/big\n  waitP99AtMost: 1m\n",
        "expect:\n- queue: team/red\n  job: team/big\n  startsWithin: 1m\n",
        "expect:\n- flavor: on-demand\n  meanUsageAtLeast: 1\n", "expect:\n- queue: team/red\n  waitP99AtMost: soon\n",
        "expect:\n- queue: team/red\n  evictionsAtMost: 0.5\n", "a: [", ""}) {
    const Answer answer = expect(wrong);
    INFO(wrong << answer.err);
    CHECK(answer.code == 2);
    CHECK(answer.err.find("expect.yaml") != std::string::npos);
  }
}

TEST_CASE("simulate: who never starts cannot make the others' waits look good") {
  const Platform platform;
  platform.folder.write("a/never.yaml", job("never", "red", 100, ""));
  const std::string file = platform.folder.write("expect.yaml", "expect:\n- queue: team/red\n  waitP99AtMost: 1000h\n");
  const Answer answer = simulate({"-f", platform.path("a"), "--expect", file});
  CHECK(answer.code == 1);
  CHECK(answer.out.find("the 99th percentile of the waits is without end") != std::string::npos);
  CHECK(answer.out.find("ExceedsMaxQuota") != std::string::npos);
}

TEST_CASE("simulate: two configurations stand side by side, and expectations are about the second") {
  const Platform platform;
  std::string more = kQueues;
  for (size_t at = 0; (at = more.find("nominalQuota: 10", at)) != std::string::npos; ++at)
    more.replace(at, 16, "nominalQuota: 40");
  platform.folder.write("b/queues.yaml", more);
  platform.folder.write("b/jobs.yaml", kTwoJobs);
  const std::string file = platform.folder.write("expect.yaml", "expect:\n- evictionsAtMost: 0\n");
  const Answer answer = simulate({"-f", platform.path("a"), "--compare", platform.path("b"), "--expect", file});
  INFO(answer.err << answer.out);
  CHECK(answer.code == 0);
  CHECK(answer.out.find("evictions ") != std::string::npos);
  CHECK(simulate({"-f", platform.path("b"), "--compare", platform.path("a"), "--expect", file}).code == 1);
  const json both =
      json::parse(simulate({"-f", platform.path("a"), "--compare", platform.path("b"), "-o", "json"}).out);
  CHECK(both["before"]["evicted"]["all"] > both["after"]["evicted"]["all"]);
}

TEST_CASE("simulate: names cannot steer a terminal or a spreadsheet") {
  const Platform platform;
  // Stored in a cluster, so no schema is asked.
  std::string steering = job("=HYPERLINK(1)", "red", 1, "");
  steering.insert(steering.find("  name: =") + 2, "uid: u1\n  ");
  steering.replace(steering.find("=HYPERLINK(1)"), 13, "\"\\e[2J=x\"");
  platform.folder.write("a/steer.yaml", steering);
  const Answer table = simulate({"-f", platform.path("a"), "--until", "1s"});
  CHECK(table.code == 0);
  CHECK(table.out.find('\x1b') == std::string::npos);
}

TEST_CASE("simulate: of one job it is said whether it would be admitted, when, where and at whose cost") {
  const Platform platform;
  TemporaryFolder asked;
  const auto ask = [&](const std::string& text, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"-f", platform.path("a"), "--job", asked.write("job.yaml", text)});
    return simulate(more);
  };
  const Answer now = ask(job("asked", "blue", 2, ""));
  CHECK(now.err == "");
  CHECK(now.out.find("team/asked would be admitted now, on on-demand; it evicts no Workload") == 0);
  // Red has borrowed all of Blue's quota by then.
  const std::string late = job("asked", "blue", 9, "simulate.muster.batch/arrival: 5m");
  const json evicting = json::parse(ask(late, {"-o", "json"}).out)["job"];
  CHECK(evicting["admitted"] == true);
  CHECK(evicting["evicts"].size() >= 1);
  CHECK(evicting["waitSeconds"] == 10.0);
  CHECK(ask(late).out.find("would be admitted in about 10s") != std::string::npos);
  const Answer never = ask(job("asked", "blue", 100, ""));
  CHECK(never.code == 0);
  CHECK(never.out.find("team/asked would not be admitted: ") == 0);
  CHECK(never.out.find("maximum capacity (20)") != std::string::npos);
  // One job, in a queue; and no other way of asking.
  CHECK(ask(kQueues).code == 2);
  CHECK(ask(late, {"-o", "csv"}).code == 2);
  CHECK(ask(late, {"--compare", platform.path("a")}).code == 2);
  CHECK(ask(late, {"--from-cluster", "--kubeconfig", platform.path("none")}).code == 2);
}

TEST_CASE("simulate: a job that waits or runs already does not come a second time") {
  TemporaryFolder folder;
  folder.write("a/queues.yaml", kQueues);
  const auto stored = [](const std::string& name, const std::string& pods, const std::string& status) {
    return "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n  name: w-" + name +
           "\n  namespace: team\n  uid: w-" + name +
           "\n  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: " + name + ", uid: u-" + name +
           ", controller: true}]\nspec:\n  queueName: red\n  maximumExecutionTimeSeconds: 600\n  podSets:\n  - {name: "
           "main, "
           "count: " +
           pods +
           ", template: {spec: {restartPolicy: Never, containers: [{name: c, image: x, resources: {requests: {cpu: "
           "\"1\"}}}]}}}\n" +
           status;
  };
  const std::string holds =
      "status:\n  admission: {clusterQueue: red, podSetAssignments: [{name: main, count: 20, flavors: {cpu: "
      "on-demand}, "
      "resourceUsage: {cpu: \"20\"}}]}\n  conditions:\n"
      "  - {type: QuotaReserved, status: \"True\", reason: QuotaReserved, lastTransitionTime: 2026-01-01T00:00:00Z}\n"
      "  - {type: Admitted, status: \"True\", reason: Admitted, lastTransitionTime: 2026-01-01T00:00:00Z}\n";
  folder.write("a/workloads.yaml", stored("runs", "20", holds) + stored("waits", "20", ""));
  const auto ask = [&](const std::string& name, int pods) {
    return simulate({"-f", folder / "a", "--job", folder.write("job.yaml", job(name, "red", pods, "")), "-o", "json"});
  };
  const auto of = [&](const std::string& name) { return json::parse(ask(name, 20).out)["job"]; };
  CHECK(of("runs")["isAdmittedAlready"] == true);
  CHECK(of("runs")["flavors"] == "on-demand");
  CHECK(of("waits")["isAdmittedAlready"] == false);
  CHECK(of("waits")["waitSeconds"] == 600.0);
  CHECK(json::parse(ask("waits", 20).out)["jobs"]["all"] == 2);
  // Another one of the same size comes after both.
  CHECK(of("new")["waitSeconds"] == 1200.0);
}

TEST_CASE("simulate: a published trace is a table of arrivals, in queues of its virtual clusters") {
  TemporaryFolder folder;
  std::string queues = kQueues;
  for (size_t at = queues.find("[cpu]"); at != std::string::npos; at = queues.find("[cpu]"))
    queues.replace(at, 5, "[nvidia.com/gpu]");
  for (size_t at = queues.find("{name: cpu,"); at != std::string::npos; at = queues.find("{name: cpu,"))
    queues.replace(at, 11, "{name: nvidia.com/gpu,");
  folder.write("a/queues.yaml", queues);
  const std::string trace = folder.write(
      "log.json",
      R"([{"vc": "Red", "jobid": "app_1", "submitted_time": "2017-10-07 01:00:00", "attempts": [{"start_time":
       "2017-10-07 01:00:00", "end_time": "2017-10-07 01:10:00", "detail": [{"ip": "m", "gpus": ["gpu0", "gpu1"]}]}]},
       {"vc": "Red", "jobid": "app_2", "submitted_time": "2017-10-07 01:00:00", "attempts": []}])");
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-f", folder / "a"});
    return simulate(more);
  };
  const Answer answer = ask({"--arrivals", trace, "--arrivals-format", "philly", "-n", "team", "-o", "json"});
  CHECK(answer.err == "");
  const json report = json::parse(answer.out);
  CHECK(report["jobs"]["finished"] == 1);
  CHECK(report["elapsedSeconds"] == 600.0);
  CHECK(report["queues"][0]["queue"] == "team/red");
  CHECK(report["notes"][0].get<std::string>().find("1 job(s) of the trace") == 0);
  // Another format than the file's, an unknown one, and one of no file.
  CHECK(ask({"--arrivals", trace, "--arrivals-format", "helios"}).code == 2);
  CHECK(ask({"--arrivals", trace}).code == 2);
  CHECK(ask({"--arrivals", trace, "--arrivals-format", "phily"}).err.find("did you mean") != std::string::npos);
  CHECK(ask({"--arrivals-format", "philly"}).err.find("name it with --arrivals") != std::string::npos);
}

}  // namespace simulate_test
