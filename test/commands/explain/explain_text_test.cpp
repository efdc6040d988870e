#include "commands/explain/explain_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "commands/explain/priority_text.h"

namespace muster::commands::explain_text_test {
namespace {

ExplainReply waiting() {
  ExplainReply made;
  made.kind = "Job";
  made.ns = "team-a";
  made.name = "train";
  made.say(ExplainReason::kWaitingForQuota, "Job team-a/train waits for quota.");
  made.because = {"The ClusterQueue is StrictFIFO."};
  made.starts_when("Starts when quota is released.");
  made.can({.by = std::string(kByYou), .what = "See who holds cpu", .command = "kubectl muster who cpu"});
  made.can({.by = std::string(kByAdministrator), .what = "Ask \x1b[2Jthem"});
  made.change.emplace_back("A sentence of another version.");
  made.add_fact("LocalQueue", "lq");
  made.flavors = {{.pod_set = "main",
                   .resource = "cpu",
                   .flavor = "spot",
                   .requested = "12",
                   .free = "4",
                   .nominal = "10",
                   .most = "20",
                   .verdict = "asks for 12, 4 are free"},
                  {.pod_set = "main", .resource = "gpu", .flavor = "", .requested = "1", .verdict = "no quota"}};
  made.others = {{.role = std::string(kAheadRole), .count = 3, .names = {{"team-a", "x"}}},
                 {.role = std::string(kVictimRole), .count = 2, .names = {}}};
  made.tries = ExplainedTries{.failed = 2, .limit = 4, .next_at = {1'767'268'812, 0}};
  made.timeline = {{{1'767'268'800, 0}, "Workload created"}};
  made.notes = {"muster itself was not asked."};
  return made;
}

TEST_CASE("explain text: the answer comes first and the numbers stand in columns") {
  CHECK(explain_text(waiting()) ==
        "Job team-a/train waits for quota.\n"
        "(muster itself was not asked.)\n"
        "\n"
        "Why (WaitingForQuota)\n"
        "  The ClusterQueue is StrictFIFO.\n"
        "\n"
        "When it starts\n"
        "  Starts when quota is released.\n"
        "\n"
        "What you can do\n"
        "  you: See who holds cpu:\n"
        "    kubectl muster who cpu\n"
        "  an administrator: Ask \\x1b[2Jthem.\n"
        "  A sentence of another version.\n"
        "\n"
        "Quota\n"
        "  POD SET  RESOURCE  FLAVOR  REQUESTED  FREE  NOMINAL  MAX\n"
        "  main     cpu       spot    12         4     10       20   asks for 12, 4 are free\n"
        "  main     gpu               1                              no quota\n"
        "\n"
        "Related workloads\n"
        "  3 ahead of it in the queue: team-a/x and 2 more\n"
        "  2 evicted for it and still stopping: 2 that you cannot list\n"
        "\n"
        "Facts\n"
        "  LocalQueue  lq\n"
        "  Tries       2 failed of at most 4; try 3 begins at 2026-01-01T12:00:12Z\n"
        "\n"
        "History\n"
        "  2026-01-01T12:00:00Z  Workload created\n");
}

TEST_CASE("history text: all moments, who made room for whom, and what is only known from conditions") {
  ExplainReply made = waiting();
  made.notes.clear();
  made.timeline.push_back(
      {.time = {1'767'268'801, 0}, .what = "Waits (Pending)", .by = std::nullopt, .from_conditions = true});
  made.timeline.push_back(
      {.time = {1'767'268'802, 0}, .what = "Preempted", .by = ExplainedOthers::Name{"team-b", "big"}});
  CHECK(history_text(made) ==
        "2026-01-01T12:00:00Z  Workload created\n"
        "2026-01-01T12:00:01Z  Waits (Pending) *\n"
        "2026-01-01T12:00:02Z  Preempted: team-b/big\n"
        "\n"
        "*: before this replica of muster began: from conditions, which tell only the last change of each.\n");
  // explain shows the last ones, history all.
  for (int i = 0; i < 20; ++i)
    made.timeline.push_back({{1'767'268'810 + i, 0}, "Waits (Reason" + std::to_string(i) + ")"});
  CHECK(explain_text(made).find("Workload created") == std::string::npos);
  CHECK(history_text(made).find("Workload created") != std::string::npos);
  made.timeline.clear();
  CHECK(history_text(made) == "Job team-a/train: no history is kept.\n");
}

TEST_CASE("explain text: what there is nothing of takes no line") {
  ExplainReply made;
  made.say(ExplainReason::kNotFound, "There is no Job team-a/train.");
  CHECK(explain_text(made) == "There is no Job team-a/train.\n");
}

TEST_CASE("explain text: while muster is down each command says it first, and each -o json in one field") {
  ExplainReply made = waiting();
  made.alarm = "muster is down since 2026-01-01T12:00:00Z: nothing is admitted or evicted";
  const std::string first = "!! " + made.alarm + ".\n";
  for (const bool is_pending : {false, true}) {
    if (is_pending)
      made.order = ExplainedOrder{.cluster_queue = "q", .position = 1, .pending = 1, .queue = {}, .heads = {}};
    for (const std::string& text : {explain_text(made), history_text(made), priority_text(made)}) {
      CHECK(text.starts_with(first));
      CHECK(text.find("!! ", 1) == std::string::npos);
    }
    for (const nlohmann::json& object : {to_json(made), history_json(made), priority_json(made)})
      CHECK(object.value("alarm", "") == made.alarm);
  }
  made.alarm.clear();
  for (const nlohmann::json& object : {to_json(made), history_json(made), priority_json(made)})
    CHECK_FALSE(object.contains("alarm"));
}

TEST_CASE("explain text: the fields that -o json of history and priority have") {
  const auto names = [](const nlohmann::json& object) {
    std::vector<std::string> found;
    for (const auto& [name, value] : object.items()) found.push_back(name);
    return found;
  };
  const ExplainReply made = waiting();
  CHECK(names(history_json(made)) == std::vector<std::string>{"at", "found", "moments", "notes", "object"});
  CHECK(history_json(made)["moments"].size() == 1);
  CHECK(names(priority_json(made)) ==
        std::vector<std::string>{"at", "found", "headline", "notes", "object", "order", "reason"});
  CHECK(priority_json(made)["order"].is_null());
}

TEST_CASE("explain text: a watch prints another headline, and that muster is down and up again") {
  const ExplainReply last = waiting();
  ExplainReply next = last;
  CHECK_FALSE(is_news(last, next));
  next.alarm = "muster is down";
  CHECK(is_news(last, next));
  CHECK(is_news(next, last));
  next.at = {1'767'268'800, 0};
  CHECK(news_text(next) == "!! muster is down.\n2026-01-01T12:00:00Z  Job team-a/train waits for quota.\n");
  next.alarm.clear();
  next.headline = "Job team-a/train runs.";
  CHECK(is_news(last, next));
}

TEST_CASE("explain text: of many rows the first are shown and the rest counted") {
  ExplainReply made = waiting();
  made.flavors.assign(25, made.flavors[0]);
  const std::string text = explain_text(made);
  CHECK(text.find("  and 5 more; -o json has all\n") != std::string::npos);
}

}  // namespace
}  // namespace muster::commands::explain_text_test
