#include "commands/explain/priority_text.h"

#include <doctest/doctest.h>

namespace muster::commands::priority_text_test {
namespace {

ExplainReply third() {
  ExplainReply made;
  made.kind = "Job";
  made.ns = "team-a";
  made.name = "train";
  made.say(ExplainReason::kWaitingForQuota, "Job team-a/train waits for quota.");
  made.order = ExplainedOrder{.cluster_queue = "research",
                              .position = 4,
                              .pending = 9,
                              .ahead = {{"sticky", 1}, {"priority", 1}, {"time", 1}},
                              .fair = false,
                              .queue = {},
                              .heads = {}};
  const Timestamp time{1'767'268'800, 0};
  made.order->queue = {
      {.position = 1, .sticky = true, .time = time, .time_of = "creation", .decided_by = "sticky"},
      {.position = 3,
       .ns = "team-b",
       .name = "big",
       .priority = 9,
       .priority_class = "gold",
       .time = time,
       .time_of = "eviction",
       .decided_by = "priority"},
      {.position = 4, .ns = "team-a", .name = "job-train", .itself = true, .time = time, .time_of = "creation"},
      {.position = 5, .ns = "team-a", .name = "later", .time = time, .time_of = "creation", .decided_by = "time"}};
  return made;
}

TEST_CASE("priority text: a sentence with the first term of each one ahead, and a table of those around it") {
  CHECK(
      priority_text(third()) ==
      "Job team-a/train has position 4 of 9 in ClusterQueue research because of those ahead of it 1 has the first "
      "place, because its preemptions are in progress; 1 has a higher priority; 1 has the same priority and an earlier "
      "time.\n"
      "Job team-a/train waits for quota.\n"
      "\n"
      "Queue\n"
      "     POSITION  WORKLOAD          STICKY  PRIORITY  TIME\n"
      "     1         (not visible)     yes     0         2026-01-01T12:00:00Z (creation)  ahead: its preemptions are "
      "in "
      "progress\n"
      "     ...       1 more\n"
      "     3         team-b/big        no      9 (gold)  2026-01-01T12:00:00Z (eviction)  ahead: priority 9 > 0\n"
      "  >  4         team-a/job-train  no      0         2026-01-01T12:00:00Z (creation)\n"
      "     5         team-a/later      no      0         2026-01-01T12:00:00Z (creation)  behind: later\n"
      "     ...       4 more\n");
}

TEST_CASE("priority text: the heads of a Cohort by level, and with fair sharing by share") {
  ExplainReply made = third();
  ExplainedTerms own{
      .ns = "team-a", .name = "first", .cluster_queue = "research", .time = {1, 0}, .time_of = "creation"};
  own.level = 1;
  ExplainedTerms other{
      .cluster_queue = "other", .priority = 5, .time = {1, 0}, .time_of = "creation", .decided_by = "level"};
  other.level = 0;
  made.order->heads = {other, own};
  made.order->heads_left_out = 3;
  std::string text = priority_text(made);
  CHECK(text.find("CLUSTERQUEUE  WORKLOAD       CLAIM  BLOCKED  LEVEL  PRIORITY") != std::string::npos);
  CHECK(text.find("ahead: its quota is nearer") != std::string::npos);
  CHECK(text.find("and 3 more ClusterQueues") != std::string::npos);
  made.order->fair = true;
  made.order->heads[0].decided_by = "share";
  made.order->heads[0].share = 500;
  made.order->heads[0].weight = 2;
  made.order->heads[1].weight = 0;
  made.order->heads[1].borrows = true;
  text = priority_text(made);
  CHECK(text.find("BORROWS  SHARE     WEIGHT  PRIORITY") != std::string::npos);
  CHECK(text.find("no       250       2       5") != std::string::npos);
  CHECK(text.find("yes      infinite  0") != std::string::npos);
  CHECK(text.find("ahead: smaller share") != std::string::npos);
}

TEST_CASE("priority text: first, not pending, and a name that would steer the terminal") {
  ExplainReply made = third();
  made.order->position = 1;
  made.order->ahead.clear();
  CHECK(priority_text(made).starts_with("Job team-a/train has position 1 of 9 in ClusterQueue research: no pending"));
  made.order.reset();
  made.headline = "Job is running.\x1b[2J";
  CHECK(priority_text(made) == "Job is running.\\x1b[2J\nIt has no place in the order of a ClusterQueue now.\n");
}

}  // namespace
}  // namespace muster::commands::priority_text_test
