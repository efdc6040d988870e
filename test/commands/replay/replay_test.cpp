// muster simulate --replay: output and exit codes.
#include "commands/replay/replay.h"

#include <doctest/doctest.h>

#include <sstream>

#include "commands/simulate/simulate.h"
#include "runtime/recording/recorded_settings.h"
#include "test/engine/recording/recorded_loop.h"
#include "test/support/temporary_folder.h"

namespace replay_test {

using namespace muster;
using namespace muster::commands;
using namespace muster::test;

namespace {

struct Printed {
  int code;
  std::string out, err;
};

Printed replay_of(const std::string& text, SimulateOptions options = {}) {
  std::istringstream in(text);
  std::ostringstream out, err;
  options.replay_file = "-";
  const int code = simulate(options, {in, out, err});
  return {code, out.str(), err.str()};
}

std::string recorded_text() {
  const auto settings = runtime::settings_of_texts({}, {}, "muster-system");
  REQUIRE(settings.ok());
  const runtime::EngineSurroundings surroundings{.own_namespace = "muster-system",
                                                 .keep_webhook_configurations = false};
  TextRecorder recorder(
      {.version = "0.0.9", .commit = "abc", .settings = runtime::recorded_settings(*settings, {}, surroundings)});
  RecordedLoop loop(recorder, runtime::engine_settings_of(*settings, surroundings));
  for (const char* name : {"a", "b", "c"}) {
    loop.add_workload(name);
    loop.answer();
  }
  return recorder.text;
}

constexpr const char* kNothingCounts =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: {excludeResourcePrefixes: [cpu]}\n";

}  // namespace

TEST_CASE("simulate --replay: the same muster decides the same") {
  const Printed outcome = replay_of(recorded_text());
  CHECK(outcome.err == "");
  CHECK(outcome.code == kReplayEqual);
  CHECK(outcome.out.find("Recorded by muster 0.0.9 (abc)") != std::string::npos);
  CHECK(outcome.out.find("admission") != std::string::npos);
  CHECK(outcome.out.ends_with("The decisions are equal.\n"));
}

TEST_CASE("simulate --replay: another configuration shows where it decides otherwise, in the table and as data") {
  const std::string text = recorded_text();
  const TemporaryFile config(kNothingCounts);
  SimulateOptions options;
  options.config_file = config.path();
  const Printed table = replay_of(text, options);
  CHECK(table.code == kReplayDifferent);
  CHECK(table.out.find("workloads/team-a/c") != std::string::npos);
  CHECK(table.out.find("QuotaReserved=True") != std::string::npos);
  CHECK(table.out.ends_with("The decisions are different.\n"));
  options.format = SimulateFormat::kJson;
  const Printed data = replay_of(text, options);
  CHECK(data.code == kReplayDifferent);
  const json report = json::parse(data.out);
  CHECK(report["equal"] == false);
  CHECK(report["decisions"]["different"].get<int>() > 0);
  REQUIRE_FALSE(report["differences"].empty());
  for (const char* field : {"time", "object", "recorded", "now"}) CHECK(report["differences"][0].contains(field));
  options.most_differences = 1;
  const json one = json::parse(replay_of(text, options).out);
  CHECK(one["differences"].size() == 1);
  CHECK(one["moreDifferences"].get<int>() > 0);
}

TEST_CASE("simulate --replay: a torn file is read to its end and says so; what is no recording is not read") {
  const std::string text = recorded_text();
  const Printed torn = replay_of(text.substr(0, text.size() - 5));
  CHECK(torn.code == kReplayEqual);
  CHECK(torn.out.find("The recording ends early: the last line is not whole") != std::string::npos);
  for (const std::string& other : {std::string(), std::string("hello\n"), std::string(1000, '\0')}) {
    const Printed outcome = replay_of(other);
    CHECK(outcome.code == kReplayUnreadable);
    CHECK(outcome.out == "");
    CHECK(outcome.err.starts_with("muster simulate: --replay -: "));
  }
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(replay({.file = "/nonexistent/file"}, {in, out, err}) == kReplayUnreadable);
  CHECK(err.str().find("cannot be opened") != std::string::npos);
}

TEST_CASE("simulate --replay: options that mean nothing beside it are refused") {
  SimulateOptions files;
  files.sources.files = {"a.yaml"};
  SimulateOptions format;
  format.format = SimulateFormat::kCsv;
  SimulateOptions seed;
  seed.seed = 1;
  for (const SimulateOptions& options : {files, format, seed}) {
    const Printed outcome = replay_of(recorded_text(), options);
    CHECK(outcome.code == kReplayUnreadable);
    CHECK(outcome.err.find("leave the other options out") != std::string::npos);
  }
}

TEST_CASE("simulate --replay: what a recording says moves no cursor of a terminal") {
  ReplayReport report;
  report.result.differences.push_back({.object = "workloads/a/b", .recorded = "x\x1b[2Jy\nz", .now = "nothing"});
  const std::string table = replay_table(report);
  CHECK(table.find('\x1b') == std::string::npos);
  CHECK(table.find("\\x1b[2Jy") != std::string::npos);
}

}  // namespace replay_test
