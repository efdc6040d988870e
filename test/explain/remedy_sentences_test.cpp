// The words of remedies: who can act, commands that no name can change, and who holds the quota.
#include <doctest/doctest.h>

#include "explain/remedies.h"
#include "test/explain/explain_rows.h"

namespace muster::test::remedy_sentences_test {
using explain::Cause;

namespace {

void wait(ExplainCluster& cluster) {
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload());
}

}  // namespace

// Who can do it, by the permissions of manifests/user_roles.cpp: jobs are the user's, queues are not.
TEST_CASE("explain: what changes queues, Workloads, namespaces and LimitRanges is an administrator's") {
  for (const explain::Remedy& remedy : explain::remedies()) {
    CAPTURE(remedy.command);
    const auto has = [&](std::string_view part) { return remedy.command.find(part) != std::string_view::npos; };
    const bool writes =
        has(" patch ") || has(" edit ") || has(" delete ") || has(" create ") || has(" annotate ") || has(" label ");
    if (writes) CHECK((remedy.by == kByYou) == has(" $type $name"));
  }
}

TEST_CASE("explain: a name with characters of a shell cannot become a command") {
  for (const std::string name : {"$(touch x)", "a;reboot", "a' ; reboot; '", "`id`", "a\nb", "\x1b]0;x"}) {
    ExplainReply reply;
    reply.ns = "team-a";
    explain::add_remedies(Cause::kLocalQueueMissing,
                          {{"type", "jobs"}, {"name", "train"}, {"queue", name}, {"meant", name}}, reply);
    for (const ExplainedAction& action : reply.actions) {
      CAPTURE(action.command);
      // Without what is in quotes, nothing is left that a shell reads as more than words.
      std::string bare;
      bool quoted = false;
      for (size_t i = 0; i < action.command.size(); ++i) {
        const char c = action.command[i];
        if (!quoted && c == '\\') {
          ++i;
        } else if (c == '\'') {
          quoted = !quoted;
        } else if (!quoted) {
          bare += c;
        }
      }
      CHECK_FALSE(quoted);
      CHECK(bare.find_first_of("$`;|&()<>\n\x1b") == std::string::npos);
    }
  }
  ExplainReply reply;
  explain::add_remedies(Cause::kLocalQueueStopped, {{"ns", "team-a"}, {"queue", "--all"}}, reply);
  REQUIRE(reply.actions.size() == 1);
  CHECK(reply.actions[0].command.empty());
}

TEST_CASE("explain: the numbers of a LimitRange are named, and an invalid Workload has no room") {
  ExplainCluster cluster;
  wait(cluster);
  cluster.put(kLimitRanges, {{"metadata", {{"name", "small"}}},
                             {"spec", {{"limits", {{{"type", "Container"}, {"default", {{"cpu", "1"}}}}}}}}});
  cluster.decide();
  const ExplainReply reply = cluster.ask();
  const std::string all = to_json(reply).dump();
  CAPTURE(all);
  CHECK(reply.reason == "Misconfigured");
  CHECK(all.find(" requests cpu 3; LimitRange small sets its limit to 1.") != std::string::npos);
  CHECK(all.find("has room") == std::string::npos);
}

TEST_CASE("explain: who borrowed is named, and the sentence stays for readers who may not know the names") {
  ExplainCluster cluster;
  const json in_cohort = {{"cohortName", "all"}};
  cluster.put(kClusterQueues, ExplainCluster::cluster_queue(in_cohort));
  json research = cluster_queue_of({quota_of("f1", {{"cpu", "2"}})}, in_cohort);
  research["metadata"]["name"] = "research";
  cluster.put(kClusterQueues, research);
  json held = ExplainCluster::workload(cluster.admitted(), "held", "hold", "hold-uid");
  held["status"]["admission"]["clusterQueue"] = "research";
  cluster.put(kWorkloads, held);
  json own = ExplainCluster::workload(cluster.admitted(), "own", "mine", "own-uid");
  cluster.put(kWorkloads, own);
  wait(cluster);
  cluster.decide();
  ExplainReply reply = cluster.ask();
  const auto sentences = [&] {
    std::vector<std::string> all;
    for (const ExplainedOthers& others : reply.others) {
      if (others.role == kHolderRole) all.push_back(holders_sentence(others));
    }
    return all;
  };
  CHECK(sentences() == std::vector<std::string>{"ClusterQueue cq uses 6 of cpu in flavor f1 (job/mine 6).",
                                                "ClusterQueue research borrows 4 of cpu in flavor f1 (job/hold 6)."});
  hide_names(reply, [](const std::string&) { return false; });
  CHECK(sentences() ==
        std::vector<std::string>{"ClusterQueue cq uses 6 of cpu in flavor f1 (1 more Workload).",
                                 "Another ClusterQueue borrows 4 of cpu in flavor f1 (1 more Workload)."});
  CHECK(to_json(reply).dump().find("job/hold") == std::string::npos);
}

TEST_CASE("explain: without a decision here, the last evaluation is that of the condition") {
  ExplainCluster cluster;
  cluster.put(kJobs, ExplainCluster::job());
  cluster.put(kWorkloads, ExplainCluster::workload(cluster.admitted(), "held", "other", "other-uid"));
  cluster.put(kWorkloads, ExplainCluster::workload({{"status",
                                                     {{"conditions",
                                                       {cluster.condition("QuotaReserved", false, "WaitingForQuota",
                                                                          "insufficient unused quota for cpu")}}}}}));
  cluster.follow();
  const ExplainReply reply = cluster.ask(kJobs, "train", false);
  CHECK(reply.reason == "WaitingForQuota");
  CHECK(reply.starts == std::vector<std::string>{"Starts when quota is released."});
  CHECK(std::find(reply.because.begin(), reply.because.end(),
                  "Its last evaluation: insufficient unused quota for cpu.") != reply.because.end());
}

}  // namespace muster::test::remedy_sentences_test
