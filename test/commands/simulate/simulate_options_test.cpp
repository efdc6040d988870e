// What the options of `muster simulate` change, and what nodes do to its answers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/commands/simulate/called.h"

namespace simulate_options_test {

using namespace muster;
using namespace muster::test;
using nlohmann::json;

TEST_CASE("simulate: every option that shapes the run acts") {
  const Platform platform;
  TemporaryFolder plain;
  plain.write("nested/queues.yaml", kQueues);
  plain.write("nested/job.yaml", job("plain", "red", 1, ""));
  const auto elapsed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-f", plain.path().string(), "-R", "-o", "json"});
    const Answer answer = simulate(more);
    INFO(answer.err);
    REQUIRE(answer.code == 0);
    return json::parse(answer.out)["elapsedSeconds"].get<double>();
  };
  CHECK(elapsed({}) == 3600);
  CHECK(elapsed({"--run-time", "5m"}) == 300);
  CHECK(elapsed({"--until", "1m"}) == 60);
  // Without -R a nested folder is not read.
  CHECK(simulate({"-f", plain.path().string()}).code == 2);
  // The wait of team/big is the time that its victims take to stop.
  const auto wait_of_big = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-f", platform.path("a"), "-o", "csv"});
    const std::string csv = simulate(more).out;
    const size_t row = csv.find("team/big");
    REQUIRE(row != std::string::npos);
    return csv.substr(row, csv.find('\n', row) - row);
  };
  CHECK(wait_of_big({}).find(",600.0,610.0,1810.0,10.0,") != std::string::npos);
  CHECK(wait_of_big({"--stop-time", "1m"}).find(",600.0,660.0,1860.0,60.0,") != std::string::npos);
  // Nothing that asks for cpu only waits where cpu is not counted.
  TemporaryFolder settings;
  const std::string config = settings.write("config.yaml",
                                            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                                            "resources: {excludeResourcePrefixes: [cpu]}\n");
  CHECK(wait_of_big({"--config", config}).find(",600.0,600.0,1800.0,0.0,") != std::string::npos);
  // Random arrivals: the same run times as the templates, or others.
  const auto random = [&](const char* spread) {
    return json::parse(simulate({"-f", plain.path().string(), "-R", "--jobs", "200", "--over", "1h", "--spread", spread,
                                 "--seed", "3", "--run-time", "10s", "-o", "json"})
                           .out)["flavors"][0]["mean"];
  };
  CHECK(random("0") != random("2"));
  const Answer watched =
      simulate({"-f", platform.path("a"), "--jobs", "12000", "--over", "24h", "--progress", "--until", "12h"});
  CHECK(watched.code == 0);
  CHECK(watched.err.find(" of 12000 jobs have arrived, ") != std::string::npos);
}

TEST_CASE("simulate: with nodes it is said whose pods wait for one, for how long and why") {
  TemporaryFolder folder;
  const std::string counted =
      "metadata: {name: on-demand, annotations: {simulate.muster.batch/nodes: \"3\", "
      "simulate.muster.batch/node-resources: cpu=4}}";
  std::string queues = kQueues;
  queues.replace(queues.find("metadata: {name: on-demand}"), 27, counted);
  folder.write("a/queues.yaml", queues);
  folder.write("a/jobs.yaml",
               job("first", "red", 10, "simulate.muster.batch/run-time: 30m") +
                   job("second", "blue", 10, "simulate.muster.batch/arrival: 1m, simulate.muster.batch/run-time: 30m"));
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-f", folder / "a"});
    return simulate(more);
  };
  const Answer table = ask({});
  CHECK(table.err == "");
  for (const char* part :
       {"NODES OF", "1 admissions waited for nodes: mean 29m, p99 29m, longest 29m; at most 8 pods had no node"}) {
    INFO(table.out);
    CHECK(table.out.find(part) != std::string::npos);
  }
  const json all = json::parse(ask({"-o", "json"}).out);
  CHECK(all["nodes"][0]["nodes"] == 3);
  CHECK(all["nodes"][0]["allocatable"] == "12");
  CHECK(all["waitsForNodes"]["admissions"] == 1);
  CHECK(all["waitsForNodes"]["pods"]["max"] == 8);
  CHECK(all["podsWithoutNode"].empty());
  CHECK(ask({"-o", "csv"})
            .out.find("team/second,Job,team/blue,,60.0,60.0,3600.0,0.0,finished,1,0,0,0,on-demand,1800.0") !=
        std::string::npos);
  // At half of the time the second one is without nodes.
  const json half = json::parse(ask({"-o", "json", "--until", "10m"}).out);
  CHECK(half["podsWithoutNode"][0]["job"] == "team/second");
  CHECK(half["podsWithoutNode"][0]["pods"] == 8);
  CHECK(half["podsWithoutNode"][0]["message"] == "0/3 nodes are available: 3 Insufficient cpu.");
  CHECK(ask({"--until", "10m"}).out.find("PODS WITHOUT A NODE") != std::string::npos);
  // Of one job.
  const auto asked = [&](int pods, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"--job", folder.write("job.yaml", job("asked", "blue", pods, "simulate.muster.batch/arrival: 1m"))});
    return ask(more);
  };
  folder.write("a/jobs.yaml", job("first", "red", 10, "simulate.muster.batch/run-time: 30m"));
  CHECK(asked(4).out.find(
            "team/asked would be admitted now, on on-demand; all of its pods have a node in about 29m; it evicts no") ==
        0);
  CHECK(asked(13, {"--until", "2h"})
            .out.find("; its pods never have a node each (1 of 13 of pod set main: 0/3 nodes are") !=
        std::string::npos);
  CHECK(json::parse(asked(4, {"-o", "json"}).out)["job"]["podsScheduledSeconds"] == 1740.0);
  CHECK(json::parse(asked(13, {"-o", "json", "--ignore-nodes"}).out)["job"].contains("podsWithoutNode") == false);
  // Expectations.
  const std::string expect =
      folder.write("expect.yaml", "expect:\n- job: team/first\n  podsScheduledWithin: 1m\n- neverScheduledAtMost: 0\n");
  CHECK(ask({"--expect", expect}).code == 0);
  folder.write("a/wide.yaml", job("wide", "blue", 13, ""));
  const Answer failed = ask({"--expect", expect});
  CHECK(failed.code == 1);
  CHECK(failed.out.find("FAILS: expect[1]: all jobs: neverScheduledAtMost 0 (never scheduled: 1)") !=
        std::string::npos);
}

}  // namespace simulate_options_test
