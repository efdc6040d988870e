#include "api/explained.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::explained_test {
namespace {

ExplainReply full() {
  ExplainReply made;
  made.kind = "Job";
  made.ns = "team-a";
  made.name = "train";
  made.at = {1'767'268'800, 0};
  made.say(ExplainReason::kBackoff, "Job team-a/train waits.");
  made.because = {"Evicted before."};
  made.add_fact("LocalQueue", "lq");
  made.flavors = {{.pod_set = "main",
                   .resource = "cpu",
                   .flavor = "f",
                   .requested = "6",
                   .free = "4",
                   .nominal = "10",
                   .most = "20",
                   .verdict = "short"}};
  made.others = {{.role = "ahead", .count = 5, .names = {{"b", "x"}, {"a", "y"}, {"b", "z"}}}};
  made.others.push_back({.role = "holder",
                         .count = 1,
                         .names = {{.ns = "a", .name = "job-z", .job = "job/z", .amount = "3"}},
                         .cluster_queue = "research",
                         .resource = "cpu",
                         .flavor = "f",
                         .amount = "3",
                         .borrowed = true});
  made.change = {"Wait."};
  made.starts_when("Starts later.");
  made.can({.by = "you", .what = "Look", .command = "kubectl get jobs"});
  made.tries = ExplainedTries{.failed = 2, .limit = 4, .next_at = {1'767'268'812, 0}};
  made.timeline = {
      {.time = {1'767'268'000, 0}, .what = "Workload created", .by = std::nullopt, .from_conditions = true},
      {.time = {1'767'268'001, 0}, .what = "Preempted", .by = ExplainedOthers::Name{"c", "big"}}};
  made.notes = {"Not all is known."};
  return made;
}

TEST_CASE("an explanation comes back from JSON as it was") {
  for (ExplainReply made : {full(), ExplainReply()}) {
    const auto read = read_explained(to_json(made));
    REQUIRE(read.ok());
    CHECK(*read == made);
  }
  ExplainReply endless = full();
  endless.tries->limit.reset();
  endless.tries->next_at = {};
  CHECK(*read_explained(to_json(endless)) == endless);
}

TEST_CASE("what is no explanation is refused with a sentence") {
  for (const nlohmann::json& other : {nlohmann::json(), nlohmann::json::array(), nlohmann::json{{"kind", "Status"}},
                                      nlohmann::json{{"kind", "Explanation"}, {"apiVersion", "v2"}}}) {
    const auto read = read_explained(other);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().message.find("explain.muster.batch/v1") != std::string::npos);
  }
}

TEST_CASE("hidden names leave their count behind") {
  ExplainReply made = full();
  CHECK(namespaces_named(made) == std::vector<std::string>{"a", "b", "c"});
  hide_names(made, [](const std::string& ns) { return ns == "a"; });
  CHECK(made.others[0].count == 5);
  CHECK(made.others[0].names == std::vector<ExplainedOthers::Name>{{"a", "y"}});
  CHECK_FALSE(made.timeline[1].by);
  CHECK(made.timeline[1].what == "Preempted");
}

TEST_CASE("a suggestion is for readers who can list its kind") {
  ExplainReply made = full();
  made.can({.by = "you", .what = "Did you mean lq", .command = "kubectl label", .suggests = &kLocalQueues});
  ExplainReply shown = made;
  hide_suggestions(shown, [](const ResourceType& type) { return type.plural == "localqueues"; });
  CHECK(shown == made);
  hide_suggestions(made, [](const ResourceType&) { return false; });
  CHECK(made == full());
}

TEST_CASE("the order keeps its numbers where names are hidden") {
  ExplainReply made = full();
  made.order = ExplainedOrder{.cluster_queue = "cq",
                              .position = 2,
                              .pending = 2,
                              .ahead = {{"priority", 1}},
                              .fair = true,
                              .queue = {},
                              .heads = {}};
  made.order->queue = {
      {.position = 1, .ns = "secret", .name = "big", .cluster_queue = "cq", .priority = 9, .priority_class = "gold"},
      {.position = 2, .ns = "team-a", .name = "job-train", .cluster_queue = "cq", .itself = true, .priority = 1}};
  made.order->queue[0].decided_by = "priority";
  made.order->heads = {made.order->queue[0]};
  made.order->heads[0].level = 2;
  made.order->heads[0].share = 12.5;
  made.order->heads[0].weight = 2;
  made.order->heads[0].borrows = made.order->heads[0].claim = made.order->heads[0].blocked = true;
  CHECK(*read_explained(to_json(made)) == made);
  CHECK(namespaces_named(made) == std::vector<std::string>{"a", "b", "c", "secret"});
  hide_names(made, [](const std::string&) { return false; });
  const std::string text = to_json(made).dump();
  for (const char* hidden : {"secret", "big", "gold"}) CHECK(text.find(hidden) == std::string::npos);
  CHECK(made.order->queue[0].priority == 9);
  CHECK(made.order->heads[0].cluster_queue.empty());
  // What was asked about is the reader's own question.
  CHECK(made.order->queue[1].name == "job-train");
}

}  // namespace
}  // namespace muster::explained_test
