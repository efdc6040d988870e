// One row for each setting: the file, the flags, the documentation and the chart say the same.
#include "api/config/muster_settings.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test/support/vectors.h"

namespace muster::muster_settings_test {
namespace {

using nlohmann::json;

struct Example {
  json in_file;
  std::vector<std::string> as_flag;
};

// A value of each setting that is not its default.
const std::map<std::string, Example>& examples() {
  static const std::map<std::string, Example> values = {
      {"suspendGuard", {"observe", {"observe"}}},
      {"admitters", {{"alice", "bob"}, {"alice", "bob"}}},
      {"waiterImage", {"bash:5", {"bash:5"}}},
      {"logFormat", {"text", {"text"}}},
      {"certificateLifetime", {"1h30m", {"1h30m"}}},
      {"jobSetFeatureGates",
       {{{"ElasticJobSet", true}, {"RestartJob", false}}, {"ElasticJobSet=true,RestartJob=false"}}},
      {"jobSetController", {"native", {"native"}}},
      {"patchJobSetDefinition", {false, {"false"}}},
      {"backoffLimitTimeout", {"24h", {"24h"}}},
      {"longestGracePeriod", {"10m", {"10m"}}},
      {"backoffJitter", {0.25, {"0.25"}}},
      {"concurrentWrites", {64, {"64"}}},
      {"groupScheduling", {false, {"false"}}},
      {"webhookClientCAFile", {"/ca.crt", {"/ca.crt"}}},
      {"webhookClientNames", {{"api"}, {"api"}}},
      {"metricsCertDir", {"/metrics", {"/metrics"}}},
      {"unqueuedKinds", {"Deny", {"Deny"}}},
      {"aggregatedVisibility", {true, {"true"}}},
      {"dashboard", {true, {"true"}}},
      {"podReasons", {false, {"false"}}},
      {"recordSubmitter", {true, {"true"}}},
      {"watchNodes", {true, {"true"}}},
  };
  return values;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

// The largest number that it takes.
int most_of(const MusterSetting& setting) {
  MusterConfiguration into;
  int most = 1;
  while (setting.value.set({std::to_string(most + 1)}, into).ok()) ++most;
  return most;
}

// The table of docs/configuration.md.
std::string page_table() {
  std::string table = "| Setting | Flag | What it does | Default |\n|---|---|---|---|\n";
  for (const MusterSetting& setting : muster_settings()) {
    std::string flags = "`" + std::string(setting.flag) + "`";
    if (setting.value.form == SettingForm::kSwitch) flags += ", `" + flag_of(setting, false) + "`";
    table += "| `" + std::string(setting.name) + "` | " + flags + " | " + std::string(setting.page) + " | " +
             default_of(setting) + " |\n";
  }
  return table;
}

}  // namespace

TEST_CASE("settings: the file and the flag of each are read alike, and stored where nothing else is") {
  std::set<std::string> known;
  for (const MusterSetting& setting : muster_settings()) {
    INFO(setting.name);
    known.insert(std::string(setting.name));
    REQUIRE(examples().contains(std::string(setting.name)));
    const Example& example = examples().at(std::string(setting.name));
    const auto of_file = decode_muster_configuration({{std::string(setting.name), example.in_file}});
    REQUIRE(of_file.ok());
    CHECK_FALSE(*of_file == MusterConfiguration{});
    MusterConfiguration of_flag;
    REQUIRE(apply_settings({{std::string(setting.name), example.as_flag}}, of_flag).ok());
    CHECK(of_flag == *of_file);
    CHECK(setting.value.show(of_flag) == joined(example.as_flag));
  }
  CHECK(known.size() == muster_settings().size());
  CHECK(known.size() == examples().size());
}

TEST_CASE("settings: what the file refuses, the flag refuses") {
  struct Row {
    const char* name;
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"suspendGuard", "Observe", "--suspend-guard: must be enforce (reject) or observe"},
      {"logFormat", "", "--log-format: must be json or text"},
      {"jobSetController", "upstream", "--jobset-controller: must be auto (found out at start), native"},
      {"unqueuedKinds", "deny", "--unqueued-kinds: must be Warn or Deny"},
      {"certificateLifetime", "-10s", "--certificate-lifetime: must be at least 5s"},
      {"certificateLifetime", "5", "--certificate-lifetime: time: missing unit in duration \"5\"; write a duration"},
      {"backoffLimitTimeout", "0s", "--backoff-limit-timeout: must be longer than 0s"},
      {"backoffJitter", "", "--backoff-jitter: must be a share from 0 to 1, as 0.1"},
      {"backoffJitter", "-0.1", "--backoff-jitter: must be a share"},
      {"backoffJitter", "1.01", "--backoff-jitter: must be a share"},
      {"backoffJitter", "0.1x", "--backoff-jitter: must be a share"},
      {"backoffJitter", "nan", "--backoff-jitter: must be a share"},
      {"concurrentWrites", "0", "--concurrent-writes: must be a whole number from 1 to 512"},
      {"concurrentWrites", "513", "--concurrent-writes: must be a whole number from 1 to 512"},
      {"concurrentWrites", "1.5", "--concurrent-writes: must be a whole number"},
      {"concurrentWrites", "", "--concurrent-writes: must be a whole number"},
      {"waiterImage", "a b", "--waiter-image: must be the name of a container image, without white space"},
      {"waiterImage", "", "--waiter-image: must not be empty"},
      {"webhookClientCAFile", "", "--webhook-client-ca: must not be empty"},
      {"webhookClientNames", "", "--webhook-client-names: must not be empty"},
      {"admitters", "", "--admitters: must not be empty"},
      {"groupScheduling", "no", "--group-scheduling: must be true or false"},
      {"jobSetFeatureGates", "ElasticJobSet", "--jobset-feature-gates: missing bool value for ElasticJobSet"},
      {"jobSetFeatureGates", "TLSOptions=false", "--jobset-feature-gates: TLSOptions: Invalid value: false"},
      {"jobSetFeatureGates", "GenericWorkload=true",
       "--jobset-feature-gates: GenericWorkload: Forbidden: is no feature gate of JobSet"},
      {"noSuchSetting", "1", "there is no setting noSuchSetting"},
  };
  for (const Row& row : rows) {
    INFO(row.name, " ", row.text);
    MusterConfiguration configuration;
    const auto applied = apply_settings({{row.name, {row.text}}}, configuration);
    REQUIRE_FALSE(applied.ok());
    CHECK_MESSAGE(applied.error().message.starts_with(row.message), applied.error().message);
    CHECK(configuration == MusterConfiguration{});
  }
  MusterConfiguration configuration;
  CHECK(apply_settings({{"jobSetFeatureGates", {""}}, {"backoffJitter", {"0"}}}, configuration).ok());
  CHECK(configuration.backoff_jitter == 0);
}

TEST_CASE("settings: a flag adds to the admitters of the file and replaces the names of clients") {
  MusterConfiguration configuration;
  configuration.admitters = {"alice"};
  configuration.webhook_client_names = {"one"};
  REQUIRE(apply_settings({{"admitters", {"alice", "bob"}}, {"webhookClientNames", {"two"}}}, configuration).ok());
  CHECK(configuration.admitters == std::vector<std::string>{"alice", "bob"});
  CHECK(configuration.webhook_client_names == std::vector<std::string>{"two"});
}

TEST_CASE("settings: each has flags of its own, a default, and sentences") {
  std::set<std::string> flags;
  for (const MusterSetting& setting : muster_settings()) {
    INFO(setting.name);
    const bool is_switch = setting.value.form == SettingForm::kSwitch;
    for (const bool on : {true, false}) {
      if (on || is_switch) CHECK(flags.insert(flag_of(setting, on)).second);
    }
    CHECK(setting.flag.starts_with("--"));
    CHECK_FALSE(setting.help.empty());
    CHECK(setting.off_help.empty() != is_switch);
    CHECK_FALSE(setting.page.empty());
    CHECK((setting.value.form == SettingForm::kWord) == !setting.value.words().empty());
    // Words are for what has no value; a default that is a value is a flag that changes nothing.
    const std::string value = setting.value.show(MusterConfiguration{});
    CHECK(setting.unset.empty() == !value.empty());
    MusterConfiguration configuration;
    if (!value.empty()) CHECK(setting.value.set({value}, configuration).ok());
    CHECK(configuration == MusterConfiguration{});
    for (const std::string_view word : setting.value.words())
      CHECK(setting.value.set({std::string(word)}, configuration).ok());
  }
}

TEST_CASE("settings: what was given is handed on as a command line gives it") {
  const GivenSettings given = {{"jobSetController", {"native"}},
                               {"groupScheduling", {"false"}},
                               {"aggregatedVisibility", {"true"}},
                               {"admitters", {"a", "b"}}};
  CHECK(arguments_of(given) == std::vector<std::string>{"--admitters=a", "--admitters=b", "--jobset-controller=native",
                                                        "--no-group-scheduling", "--aggregated-visibility"});
  CHECK(arguments_of({}).empty());
}

TEST_CASE("settings: docs/configuration.md has their table") {
  const std::string page = test::read_source_file("docs/configuration.md");
  const std::string table = page_table();
  const auto begin = page.find(table.substr(0, table.find('\n') + 1));
  REQUIRE(begin != std::string::npos);
  const std::string there = page.substr(begin, page.find("\n\n", begin) + 1 - begin);
  CHECK_MESSAGE((there == table), "put this table into docs/configuration.md:\n", table);
}

TEST_CASE("settings: the chart's schema of values has each of them and nothing else") {
  const json schema = json::parse(test::read_source_file("manifests/charts/muster/values.schema.json"));
  const json& values = schema.at("properties").at("configuration").at("properties").at("muster");
  CHECK(values.at("additionalProperties") == false);
  json wanted = {{"kind", false}, {"apiVersion", false}};
  for (const MusterSetting& setting : muster_settings()) {
    json& of_setting = wanted[std::string(setting.name)];
    switch (setting.value.form) {
      case SettingForm::kText:
        of_setting = {{"type", "string"}, {"minLength", 1}};
        break;
      case SettingForm::kWord:
        of_setting = {{"enum", setting.value.words()}};
        break;
      case SettingForm::kShare:
        of_setting = {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
        break;
      case SettingForm::kCount:
        of_setting = {{"type", "integer"}, {"minimum", 1}, {"maximum", most_of(setting)}};
        break;
      case SettingForm::kSwitch:
        of_setting = {{"type", "boolean"}};
        break;
      case SettingForm::kList:
        of_setting = {{"type", "array"}, {"uniqueItems", true}, {"items", {{"type", "string"}, {"minLength", 1}}}};
        break;
      case SettingForm::kMap:
        of_setting = {{"type", "object"}, {"additionalProperties", {{"type", "boolean"}}}};
        break;
    }
  }
  CHECK_MESSAGE((values.at("properties") == wanted), "put these properties into values.schema.json:\n", wanted.dump(2));
}

}  // namespace muster::muster_settings_test
