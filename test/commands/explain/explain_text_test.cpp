#include "commands/explain/explain_text.h"

#include <doctest/doctest.h>

namespace muster::commands::explain_text_test {
namespace {

ExplainReply waiting() {
  ExplainReply made;
  made.kind = "Job";
  made.ns = "team-a";
  made.name = "train";
  made.say("WaitingForQuota", "Job team-a/train waits for quota.");
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
  made.say("NotFound", "There is no Job team-a/train.");
  CHECK(explain_text(made) == "There is no Job team-a/train.\n");
}

TEST_CASE("explain text: of many rows the first are shown and the rest counted") {
  ExplainReply made = waiting();
  made.flavors.assign(25, made.flavors[0]);
  const std::string text = explain_text(made);
  CHECK(text.find("  and 5 more; -o json has all\n") != std::string::npos);
}

}  // namespace
}  // namespace muster::commands::explain_text_test
