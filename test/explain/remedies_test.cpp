// What `muster explain` tells a reader to do about a waiting Workload ends the wait.
#include <doctest/doctest.h>

#include <set>

#include "explain/remedies.h"
#include "scheduler/decision.h"
#include "test/explain/explain_rows.h"

namespace muster::test::explain_remedies_test {
using explain::Cause;

namespace {

using Change = std::function<void(ExplainCluster&)>;

struct Row {
  Cause of;
  const char* cause;
  Change arrange;
  const char* reason;
  const char* remedy;  // a part of it
  Change follow;
};

json workload_with(const std::function<void(json& spec)>& change) {
  json workload = ExplainCluster::workload();
  change(workload["spec"]);
  return workload;
}

Change put_workload(const std::function<void(json& spec)>& change) {
  return [change](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, workload_with(change));
  };
}

// The job was created again as the remedy says.
void create_again(ExplainCluster& cluster) {
  cluster.put(kWorkloads, ExplainCluster::workload());
}

json& pods(json& spec) {
  return spec["podSets"][0]["template"]["spec"];
}

Change put_queue(const json& spec) {
  return [spec](ExplainCluster& cluster) { cluster.put(kClusterQueues, ExplainCluster::cluster_queue(spec)); };
}

Change put_local_queue(const json& spec) {
  return [spec](ExplainCluster& cluster) { cluster.put(kLocalQueues, "lq", {{"spec", spec}}); };
}

Change both(const Change& one, const Change& other) {
  return [one, other](ExplainCluster& cluster) {
    one(cluster);
    other(cluster);
  };
}

const Change kWaits = put_workload([](json&) {});

void limit_range(ExplainCluster& cluster, const char* cpu) {
  cluster.put(kLimitRanges, {{"metadata", {{"name", "small"}}},
                             {"spec", {{"limits", {{{"type", "Container"}, {"max", {{"cpu", cpu}}}}}}}}});
}

const Row kRows[] = {
    {Cause::kTopology, "a place in a topology", put_workload([](json& spec) {
       spec["podSets"][0]["topologyRequest"] = {{"required", "rack"}};
     }),
     "NoMatchingFlavor", "Create the job again without the annotations kueue.x-k8s.io/podset-*", create_again},
    {Cause::kTopology, "a slice of a topology", put_workload([](json& spec) {
       spec["podSets"][0]["topologyRequest"] = {{"podSetSliceRequiredTopology", "rack"}, {"podSetSliceSize", 1}};
     }),
     "NoMatchingFlavor", "Create the job again without the annotations kueue.x-k8s.io/podset-*", create_again},
    {Cause::kDevices, "devices", put_workload([](json& spec) {
       pods(spec)["resourceClaims"] = {{{"name", "gpu"}}};
     }),
     "Misconfigured", "Create the job again without resourceClaims", create_again},
    {Cause::kTaint, "a taint",
     both(kWaits,
          [](ExplainCluster& cluster) {
            cluster.put(kResourceFlavors, "f1",
                        {{"spec", {{"nodeTaints", {{{"key", "spot"}, {"effect", "NoSchedule"}}}}}}});
          }),
     "NoMatchingFlavor",
     "Add the toleration {\"effect\":\"NoSchedule\",\"key\":\"spot\",\"operator\":\"Exists\"}: kubectl -n team-a patch "
     "jobs "
     "train --type json -p '[{\"op\":\"add\",\"path\":\"/spec/template/spec/tolerations\",\"value\":[{",
     put_workload([](json& spec) {
       pods(spec)["tolerations"] = {{{"key", "spot"}, {"operator", "Exists"}}};
     })},
    {Cause::kAffinity, "a node selector",
     both(put_workload([](json& spec) {
            pods(spec)["nodeSelector"] = {{"gpu", "a100"}};
          }),
          [](ExplainCluster& cluster) {
            cluster.put(kResourceFlavors, "f1", {{"spec", {{"nodeLabels", {{"gpu", "t4"}}}}}});
          }),
     "NoMatchingFlavor",
     "node selector or affinity of the pods so that they allow gpu=t4 of flavor f1: kubectl -n team-a edit jobs train",
     create_again},
    {Cause::kResourceWithoutQuota, "a resource without quota",
     put_workload([](json& spec) { pods(spec)["containers"][0]["resources"]["requests"]["gpu"] = "1"; }),
     "NoMatchingFlavor", "Remove gpu from the requested resources of the pods: kubectl -n team-a edit jobs train",
     create_again},
    {Cause::kLimits, "requests above limits", put_workload([](json& spec) {
       pods(spec)["containers"][0]["resources"]["limits"] = {{"cpu", "1"}};
     }),
     "Misconfigured", "Correct the requests and limits of the pods: kubectl -n team-a edit jobs train", create_again},
    {Cause::kLimitRange, "a LimitRange", both(kWaits, [](ExplainCluster& cluster) { limit_range(cluster, "1"); }),
     "Misconfigured", "Change LimitRange small (an administrator): kubectl -n team-a edit limitrange small",
     [](ExplainCluster& cluster) { limit_range(cluster, "4"); }},
    {Cause::kQuotaTooSmall, "more than the queue can have",
     put_workload([](json& spec) { spec["podSets"][0]["count"] = 9; }), "ExceedsMaxQuota",
     "Lower the requests or the parallelism", create_again},
    {Cause::kQuotaTooSmall, "the same", put_workload([](json& spec) { spec["podSets"][0]["count"] = 9; }),
     "ExceedsMaxQuota", "Raise nominalQuota or borrowingLimit of cpu in flavor f1",
     [](ExplainCluster& cluster) {
       json queue = cluster_queue_of({quota_of("f1", {{"cpu", "100"}})}, json::object());
       queue["metadata"]["name"] = "cq";
       cluster.put(kClusterQueues, queue);
     }},
    {Cause::kLocalQueueMissing, "no such LocalQueue", put_workload([](json& spec) { spec["queueName"] = "other"; }),
     "LocalQueueMissing", "Create LocalQueue other (an administrator): kubectl muster create localqueue other",
     [](ExplainCluster& cluster) {
       cluster.put(kLocalQueues, "other", {{"spec", {{"clusterQueue", "cq"}}}});
     }},
    {Cause::kLocalQueueStopped, "a stopped LocalQueue",
     both(kWaits, put_local_queue({{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}})), "",
     "(an administrator): kubectl -n team-a patch localqueue lq --type merge -p '{\"spec\":{\"stopPolicy\":\"None\"}}'",
     put_local_queue({{"clusterQueue", "cq"}, {"stopPolicy", "None"}})},
    {Cause::kClusterQueueStopped, "a stopped ClusterQueue", both(kWaits, put_queue({{"stopPolicy", "Hold"}})), "",
     "(an administrator): kubectl patch clusterqueue cq --type merge -p '{\"spec\":{\"stopPolicy\":\"None\"}}'",
     put_queue({{"stopPolicy", "None"}})},
    {Cause::kNamespaceNotAdmitted, "a namespace that the queue does not take",
     both(kWaits, put_queue({{"namespaceSelector", {{"matchLabels", {{"team", "b"}}}}}})), "",
     "kubectl patch namespace team-a --type merge -p '{\"metadata\":{\"labels\":{\"team\":\"b\"}}}'",
     [](ExplainCluster& cluster) {
       cluster.put(kNamespaces, kNs, {{"metadata", {{"labels", {{"team", "b"}}}}}});
     }},
    {Cause::kLocalQueueMissing, "a LocalQueue that is nearly named",
     put_workload([](json& spec) { spec["queueName"] = "lqq"; }), "LocalQueueMissing",
     "Did you mean LocalQueue lq? Set it in the job's label: kubectl -n team-a label jobs train "
     "kueue.x-k8s.io/queue-name=lq --overwrite",
     create_again},
    {Cause::kWorkloadInNoQueue, "no LocalQueue", put_workload([](json& spec) { spec.erase("queueName"); }),
     "NoQueueName", "Queue its job in LocalQueue lq: kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq",
     create_again},
    {Cause::kClusterQueueMissing, "no such ClusterQueue",
     both(kWaits, [](ExplainCluster& cluster) { cluster.vanish(kClusterQueues, "cq"); }), "ClusterQueueMissing",
     "Create ClusterQueue cq (an administrator)", put_queue(json::object())},
    {Cause::kFlavorMissing, "no such flavor",
     both(kWaits,
          [](ExplainCluster& cluster) {
            cluster.vanish(kResourceFlavors, "f1");
            cluster.put(kResourceFlavors, "f10", json::object());
          }),
     "ClusterQueueInactive",
     "Did you mean ResourceFlavor f10 instead of f1? Correct the ClusterQueue (an administrator): kubectl edit "
     "clusterqueue cq",
     [](ExplainCluster& cluster) {
       json queue = cluster_queue_of({quota_of("f10", {{"cpu", "10"}})}, json::object());
       queue["metadata"]["name"] = "cq";
       cluster.put(kClusterQueues, queue);
     }},
    {Cause::kClusterQueueInactive, "no such admission check",
     both(kWaits, put_queue({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "budget"}}}}}}})),
     "ClusterQueueInactive",
     "remove them from the spec of the ClusterQueue (an administrator): kubectl edit clusterqueue",
     put_queue(json::object())},
    {Cause::kAdmissionGated, "a gate",
     [](ExplainCluster& cluster) {
       cluster.put(kJobs, ExplainCluster::job());
       cluster.put(kWorkloads,
                   ExplainCluster::workload({{"metadata", {{"annotations", {{kAdmissionGatedByAnnotation, "a/b"}}}}}}));
     },
     "AdmissionGated", "kubectl -n team-a annotate jobs train kueue.x-k8s.io/admission-gated-by-", create_again},
    {Cause::kResourceWithoutQuota, "a resource that is nearly named", put_workload([](json& spec) {
       pods(spec)["containers"][0]["resources"]["requests"] = {{"cpuu", "1"}};
     }),
     "NoMatchingFlavor", "Did you mean resource cpu instead of cpuu? Correct the requests", create_again},
    {Cause::kDeactivated, "deactivated", put_workload([](json& spec) { spec["active"] = false; }), "Deactivated",
     "kubectl -n team-a patch workload job-train --type merge -p '{\"spec\":{\"active\":true}}'", create_again},
    {Cause::kQuotaInUse, "the quota is in use",
     both(kWaits,
          [](ExplainCluster& cluster) {
            json other = ExplainCluster::workload(cluster.admitted(), "held", "other", "other-uid");
            cluster.put(kWorkloads, other);
          }),
     "WaitingForQuota", "See who holds cpu: kubectl muster who cpu -q lq -n team-a",
     [](ExplainCluster& cluster) { cluster.vanish(kWorkloads, "held"); }},
};

}  // namespace

TEST_CASE("explain: who follows the remedy is admitted") {
  for (const Row& row : kRows) {
    CAPTURE(row.cause);
    ExplainCluster cluster;
    row.arrange(cluster);
    cluster.decide();
    const auto admitted = [&] {
      const state::PendingDecision* decision = cluster.decisions.pending_decision_on(kNs, "job-train");
      return decision != nullptr && std::holds_alternative<scheduler::Admitted>(*decision);
    };
    CHECK_FALSE(admitted());
    const ExplainReply reply = cluster.ask();
    INFO(to_json(reply).dump());
    if (*row.reason != '\0') CHECK(reply.reason == row.reason);
    std::string remedies;
    for (const std::string& change : reply.change) remedies += change + "\n";
    CHECK(remedies.find(row.remedy) != std::string::npos);
    row.follow(cluster);
    cluster.decide();
    CHECK(admitted());
  }
}

namespace {

Change put_job(const json& patch) {
  return [patch](ExplainCluster& cluster) { cluster.put(kJobs, ExplainCluster::job(patch)); };
}

// Causes that end before a Workload is in a queue: who follows the remedy reads another reason.
const Row kBefore[] = {
    {Cause::kNotFound, "no such job", [](ExplainCluster&) {}, "NotFound",
     "kubectl -n team-a get jobs,jobsets,workloads", put_job({})},
    {Cause::kNamespaceNotFound, "no such namespace",
     [](ExplainCluster& cluster) { cluster.vanish(kNamespaces, "team-a"); }, "NotFound", "kubectl get namespaces",
     put_job({})},
    {Cause::kNotInQueue, "no label", put_job({{"metadata", {{"labels", nullptr}}}}), "NoQueueName",
     "Queue it in LocalQueue lq: kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq --overwrite",
     put_job({})},
    {Cause::kStartOutside, "no label", put_job({{"metadata", {{"labels", nullptr}}}}), "NoQueueName",
     "kubectl -n team-a patch jobs train --type merge -p '{\"spec\":{\"suspend\":false}}'",
     put_job({{"metadata", {{"labels", nullptr}}}, {"spec", {{"suspend", false}}}})},
    {Cause::kPriorityClassMissing, "no such class",
     both(put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "gold"}}}}}}),
          [](ExplainCluster& cluster) {
            cluster.put(kWorkloadPriorityClasses, "golden", {{"value", 7}});
          }),
     "PriorityClassMissing", "kueue.x-k8s.io/priority-class=golden --overwrite",
     put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "golden"}}}}}})},
    {Cause::kPrebuiltMissing, "a Workload that is missing",
     put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/prebuilt-workload-name", "mine"}}}}}}),
     "PrebuiltWorkloadMissing", "Create the job again without metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]",
     put_job({})},
};

bool has_row(Cause cause) {
  const auto is_of = [&](const Row& row) { return row.of == cause; };
  return std::any_of(std::begin(kRows), std::end(kRows), is_of) ||
         std::any_of(std::begin(kBefore), std::end(kBefore), is_of);
}

}  // namespace

TEST_CASE("explain: who follows the remedy of an unqueued job reads another reason") {
  for (const Row& row : kBefore) {
    CAPTURE(row.cause);
    ExplainCluster cluster;
    row.arrange(cluster);
    const ExplainReply reply = cluster.ask();
    CHECK(reply.reason == row.reason);
    std::string remedies;
    for (const std::string& change : reply.change) remedies += change + "\n";
    INFO(remedies);
    CHECK(remedies.find(row.remedy) != std::string::npos);
    row.follow(cluster);
    CHECK(cluster.ask().reason != row.reason);
  }
}

// Rows that need other settings, a controller or an API server are in explain_test, explain_waiting_test and
// explain_unqueued_test.
TEST_CASE("explain: each cause has a remedy, and each remedy of a queue is followed above") {
  const std::set<Cause> elsewhere = {Cause::kIntegrationOff,
                                     Cause::kNamespaceNotSelected,
                                     Cause::kPartOfQueued,
                                     Cause::kPodPriorityClassMissing,
                                     Cause::kPrebuiltTaken,
                                     Cause::kPrebuiltOutOfSync,
                                     Cause::kInvalidPodSets,
                                     Cause::kOwnerNotQueued,
                                     Cause::kWorkloadNameConflict,
                                     Cause::kWorkloadNotCreated,
                                     Cause::kFlavorsFailed,
                                     Cause::kProtectedWorkloads,
                                     Cause::kInvalid,
                                     Cause::kAdmissionUnwritten};
  for (size_t i = 0; i < explain::kCauses; ++i) {
    CAPTURE(i);
    const Cause cause = static_cast<Cause>(i);
    bool has_remedy = false, has_action = false;
    for (const explain::Remedy& remedy : explain::remedies()) {
      if (remedy.cause != cause) continue;
      has_remedy = true;
      has_action = has_action || !remedy.by.empty();
      CHECK((remedy.by.empty() || remedy.by == kByYou || remedy.by == kByAdministrator));
    }
    CHECK(has_remedy);
    if (has_action) CHECK(has_row(cause) != elsewhere.contains(cause));
  }
}

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
  kWaits(cluster);
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
  kWaits(cluster);
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

}  // namespace muster::test::explain_remedies_test
