// The ConfigMap behind a barrier: made early, never confused with a namesake's or another owner's, and restored when a
// user deletes it.
#include "test/reconcilers/gang/group_scheduling_support.h"

namespace group_scheduling_config_map_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

constexpr const char* kMap = "train-group-scheduling";

json owned_by(const char* kind, const char* api_version, const char* name, const char* uid) {
  return {{"metadata",
           {{"name", kMap},
            {"uid", "map-uid"},
            {"labels", {{kGroupLabel, "true"}}},
            {"ownerReferences", controlled_by(api_version, kind, name, uid)}}},
          {"data", {{"started", "jobset-uid/0/epoch-1\n"}}}};
}

}  // namespace

TEST_CASE("group: the ConfigMap is made before any pod exists and belongs to its owner") {
  GangCluster cluster = five_pods();
  CHECK(cluster.settle() == Texts{"create configmaps/train-group-scheduling"});
  const json map = cluster.get(kConfigMaps, kMap);
  CHECK(map["data"]["started"] == "");
  CHECK(map["data"]["expired"] == "");
  CHECK(map["metadata"]["labels"][std::string(kGroupLabel)] == "true");
  CHECK(map["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "muster");
  const json reference = map["metadata"]["ownerReferences"][0];
  CHECK(reference == json{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                          {"kind", "JobSet"},
                          {"name", "train"},
                          {"uid", "jobset-uid"},
                          {"controller", true},
                          {"blockOwnerDeletion", false}});
}

TEST_CASE("group: a Job's ConfigMap bears its own suffix") {
  GangCluster cluster;
  cluster.make_own_job(1);
  CHECK(cluster.settle() == Texts{"create configmaps/train.job-group-scheduling"});
}

TEST_CASE("group: nothing is made for owners that need nothing") {
  GangCluster cluster = five_pods();
  SUBCASE("suspended") {
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
  }
  SUBCASE("finished") {
    cluster.patch(kJobSets, "train", {{"status", {{"terminalState", "Completed"}}}});
  }
  SUBCASE("being deleted") {
    cluster.patch(kJobSets, "train", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}});
  }
  SUBCASE("deleted") {
    cluster.vanish(kJobSets, "train");
  }
  SUBCASE("stored before group scheduling was turned off") {
    cluster.settings.group_scheduling = false;
  }
  cluster.start(cluster.make_pods());
  CHECK(cluster.settle().empty());
}

TEST_CASE("group: a JobSet without a barrier in its templates is no gang") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 1, 2, false}});
  CHECK(cluster.settle().empty());
}

TEST_CASE("group: a namesake's ConfigMap is deleted and made anew so that it opens no gate") {
  GangCluster cluster = five_pods();
  cluster.put(kConfigMaps, owned_by("JobSet", "jobset.x-k8s.io/v1alpha2", "train", "older-uid"));
  const auto writes = cluster.settle();
  REQUIRE(writes.size() == 2);
  CHECK(writes[0] == "delete configmaps/train-group-scheduling");
  CHECK(writes[1] == "create configmaps/train-group-scheduling");
  CHECK(cluster.started().empty());
}

TEST_CASE("group: a namesake's ConfigMap that is on its way out is waited for") {
  GangCluster cluster = five_pods();
  json map = owned_by("JobSet", "jobset.x-k8s.io/v1alpha2", "train", "older-uid");
  map["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  cluster.put(kConfigMaps, map);
  cluster.start(cluster.make_pods());
  CHECK(cluster.settle().empty());
  cluster.vanish(kConfigMaps, kMap);
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: a ConfigMap that a finalizer keeps counts as gone, and the deadline decides") {
  GangCluster cluster = five_pods();
  cluster.settle();
  const json deleted = {
      {"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}, {"finalizers", {"example.com/a"}}}}};
  SUBCASE("what somebody writes into it is taken back") {
    cluster.start(cluster.make_pods().front());
    cluster.settle();
    cluster.patch(kConfigMaps, kMap, deleted);
    cluster.patch(kConfigMaps, kMap, {{"data", {{"started", cluster.line()}}}});
    CHECK(cluster.settle() == Texts{"patch configmaps/train-group-scheduling"});
    CHECK(cluster.started().empty());
    CHECK(cluster.data()["deadlines"] == "");
    cluster.vanish(kConfigMaps, kMap);
    CHECK(cluster.settle().front() == "create configmaps/train-group-scheduling");
    CHECK(cluster.started().empty());
  }
  SUBCASE("a group that is complete starts when it has gone") {
    cluster.patch(kConfigMaps, kMap, deleted);
    cluster.start(cluster.make_pods());
    CHECK(cluster.settle().empty());
    cluster.vanish(kConfigMaps, kMap);
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
  SUBCASE("what has started goes on") {
    const auto pods = cluster.make_pods();
    cluster.start(pods);
    cluster.settle();
    cluster.pass_barrier(pods[0]);
    cluster.patch(kConfigMaps, kMap, deleted);
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
    cluster.pass(seconds(2 * kTimeout));
    cluster.settle();
    CHECK(cluster.condition("Failed") == "");
  }
  SUBCASE("it does not keep the group waiting for ever") {
    cluster.start(cluster.make_pods().front());
    cluster.patch(kConfigMaps, kMap, deleted);
    cluster.settle();
    CHECK(cluster.reconcile().again_at.value() <= cluster.now().wall + seconds(kTimeout));
    cluster.pass(seconds(kTimeout + 1));
    cluster.settle();
    CHECK(contains(cluster.condition("Failed"), "its ConfigMap train-group-scheduling is being deleted"));
    CHECK(cluster.count_events("GroupSchedulingTimeout") == 1);
  }
  SUBCASE("a suspension ends the runs that it says have started") {
    cluster.start(cluster.make_pods());
    cluster.settle();
    REQUIRE(cluster.started() == cluster.line());
    cluster.patch(kConfigMaps, kMap, deleted);
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
    cluster.settle();
    CHECK(cluster.started().empty());
  }
}

TEST_CASE("group: a ConfigMap of others is never touched and the deadline decides") {
  struct Row {
    const char* name;
    json map;  // null: without our label, so muster does not see it
    const char* holder = "an object that muster did not create";
  };
  const Row rows[] = {
      {"somebody's, unlabelled", json()},
      {"labelled as ours but owned by nobody", {{"metadata", {{"name", kMap}, {"labels", {{kGroupLabel, "true"}}}}}}},
      {"another kind's", owned_by("Deployment", "apps/v1", "train", "some-uid"), "the ConfigMap of Deployment train"},
      {"that of another gang that is there", owned_by("Job", "batch/v1", "other", "other-uid"),
       "the ConfigMap of Job other"},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    INFO(name);
    GangCluster cluster = five_pods();
    cluster.put(kJobs, {{"metadata", {{"name", "other"}, {"uid", "other-uid"}}}});
    if (row.map.is_null()) {
      cluster.put_unseen(kConfigMaps, {{"metadata", {{"name", kMap}}}});
      cluster.apply(cluster.reconcile().writes.at(0));
    } else {
      cluster.put(kConfigMaps, row.map);
    }
    const json before = cluster.get(kConfigMaps, kMap);
    cluster.start(cluster.make_pods());
    CHECK(cluster.settle() == Texts{"status jobsets/train"});
    CHECK(cluster.condition().starts_with("False ConfigMapNameConflict: the ConfigMap train-group-scheduling"));
    CHECK(contains(cluster.condition(), row.holder + std::string(" has that name")));
    CHECK(cluster.count_events("ConfigMapNameConflict") == 1);
    CHECK(cluster.note_of("ConfigMapNameConflict").starts_with("Warning: the ConfigMap train-group-scheduling"));

    for (int i = 1; i * 25 < kTimeout; ++i) {  // the create is answered so again and again
      cluster.pass(seconds(25));
      if (row.map.is_null())
        cluster.state.writes().note_name_conflict({&kConfigMaps, kNs, kMap}, cluster.now().monotonic + seconds(30));
      CHECK(cluster.settle().empty());
    }
    cluster.pass(seconds(25));
    cluster.settle();
    CHECK(cluster.condition("Failed").starts_with("True GroupSchedulingTimeout: the group was not released"));
    CHECK(contains(cluster.condition("Failed"), "train-group-scheduling could not be created, because " +
                                                    std::string(row.holder) + " has that name"));
    CHECK(cluster.count_events("GroupSchedulingTimeout") == 1);
    CHECK(cluster.get(kConfigMaps, kMap) == before);
    CHECK(cluster.settle().empty());
  }
}

TEST_CASE("group: a gang with the name of before keeps its ConfigMap, and a JobSet that wants it is told whose it is") {
  GangCluster cluster;
  cluster.make_own_job(2);
  cluster.patch(kJobs, "train", {{"spec", {{"template", waiting_template("train-job-group-scheduling", "epoch-1")}}}});
  CHECK(cluster.settle() == Texts{"create configmaps/train-job-group-scheduling"});
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.get(kConfigMaps, "train-job-group-scheduling")["data"]["started"] == cluster.line());

  cluster.put(kJobSets, "train-job",
              {{"metadata", {{"uid", "jobset-uid"}}},
               {"spec",
                {{"replicatedJobs",
                  json::array({{{"name", "w"},
                                {"replicas", 1},
                                {"template",
                                 {{"spec",
                                   {{"parallelism", 1},
                                    {"completions", 1},
                                    {"template", waiting_template("train-job-group-scheduling", "e")}}}}}}})}}}});
  const Plan plan = cluster.ReconciledCluster::reconcile({&kJobSets, kNs, "train-job"});
  REQUIRE(plan.writes.size() == 1);
  CHECK(contains(plan.writes[0].body.dump(), "the ConfigMap of Job train has that name"));
}

TEST_CASE(
    "group: while the API server refuses its ConfigMap the condition says why and the time of the group goes on") {
  GangCluster cluster = five_pods();
  cluster.start(cluster.make_pods());
  cluster.state.writes().note_rejection(cluster.owner, {&kConfigMaps, kNs, kMap}, "exceeded quota: no-maps");
  Plan plan = cluster.reconcile();
  REQUIRE(plan.writes.size() == 2);
  CHECK(plan.writes[0].verb == Verb::kCreate);
  CHECK(contains(plan.writes[1].body.dump(), "ConfigMapCreationFailed"));
  CHECK(contains(plan.writes[1].body.dump(),
                 "train-group-scheduling of this group cannot be created: exceeded quota: "
                 "no-maps; correct what the API server names"));
  CHECK(plan.again_at == cluster.now().wall + seconds(kTimeout));
  cluster.pass(seconds(kTimeout));
  plan = cluster.reconcile();
  REQUIRE(plan.writes.size() == 2);
  CHECK(contains(plan.writes[1].body.dump(), "GroupSchedulingTimeout"));
  CHECK(contains(plan.writes[1].body.dump(), "train-group-scheduling cannot be created: exceeded quota: no-maps"));
}

TEST_CASE("group: a name that was taken is tried again and the gang starts when it is free") {
  GangCluster cluster = five_pods();
  cluster.put_unseen(kConfigMaps, {{"metadata", {{"name", kMap}}}});
  cluster.apply(cluster.reconcile().writes.at(0));
  cluster.vanish(kConfigMaps, kMap);
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.reconcile().again_at.value() <= cluster.now().wall + seconds(30));
  cluster.pass(seconds(31));
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
  CHECK(cluster.condition().starts_with("True AllPodsStarted"));
}

TEST_CASE("group: a deleted ConfigMap is made anew with what pods bear witness to") {
  SUBCASE("nothing was decided") {
    GangCluster cluster = five_pods();
    cluster.start(cluster.make_pods().front());
    cluster.settle();
    cluster.vanish(kConfigMaps, kMap);
    cluster.settle();
    CHECK(cluster.started().empty());
    CHECK(cluster.expired().empty());
    CHECK_FALSE(cluster.data()["deadlines"] == "");
  }
  SUBCASE("pods have passed") {
    GangCluster cluster = five_pods();
    const auto pods = cluster.make_pods();
    cluster.start(pods);
    cluster.settle();
    cluster.pass_barrier(pods[0]);
    for (size_t i = 1; i < pods.size(); ++i) cluster.vanish(kPods, pods[i]);
    cluster.vanish(kConfigMaps, kMap);
    CHECK(cluster.settle().size() == 1);
    CHECK(cluster.started() == cluster.line());
  }
  SUBCASE("a pod that passed has finished since") {
    GangCluster cluster = five_pods();
    const auto pods = cluster.make_pods();
    cluster.waiter(pods[0], {{"terminated", {{"exitCode", 0}}}}, "Succeeded");
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
  SUBCASE("a waiter was refused") {
    GangCluster cluster = five_pods();
    const auto pods = cluster.make_pods();
    cluster.waiter(pods[0], {{"terminated", {{"exitCode", 1}}}}, "Failed");
    cluster.settle();
    CHECK(cluster.expired() == cluster.line());
    CHECK(cluster.condition("Failed").starts_with("True GroupSchedulingTimeout"));
  }
  SUBCASE("waiters that gave up on an absent muster were replaced and the group is complete") {
    GangCluster cluster;
    cluster.make_own_job(1);
    cluster.waiter(cluster.make_pod("train", 0, "old"), {{"terminated", {{"exitCode", 1}}}}, "Failed");
    cluster.start(cluster.make_pod("train", 0, "new"));
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
}

TEST_CASE("group: a decision that somebody erased is restored for replaced members") {
  GangCluster cluster;
  cluster.make_own_job(2);
  const auto pods = cluster.make_pods();
  cluster.start(pods);
  cluster.settle();
  cluster.pass_barrier(pods[0]);
  cluster.patch(kConfigMaps, "train.job-group-scheduling", {{"data", {{"started", ""}}}});
  cluster.vanish(kPods, pods[1]);
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: tokens of runs of which nothing is left are pruned when a new one is written") {
  GangCluster cluster;
  cluster.make_own_job(1);
  cluster.settle();
  cluster.patch(kConfigMaps, "train.job-group-scheduling",
                {{"data",
                  {{"started", "job-uid/0/epoch-0\n"},
                   {"expired", "job-uid/0/epoch-00\n"},
                   {"deadlines", "job-uid/0/epoch-0 2026-01-01T12:00:00Z\nnonsense\n"}}}});
  CHECK(cluster.settle().empty());
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
  CHECK(cluster.expired().empty());
  CHECK(cluster.data()["deadlines"] == "");
}

TEST_CASE("group: changes of a ConfigMap concern the owners that its name may belong to") {
  const state::ClusterState state;
  std::vector<ObjectKey> keys;
  const auto ask = [&](const char* name) {
    keys.clear();
    group_scheduling_reconciler.requests_for(
        state, read_object(kConfigMaps, {{"metadata", {{"name", name}, {"namespace", kNs}}}}), keys);
    std::string texts;
    for (const ObjectKey& key : keys) texts += to_text(key) + " ";
    return texts;
  };
  CHECK(ask("train-group-scheduling") == "jobsets/team-a/train ");
  CHECK(ask("train.job-group-scheduling") == "jobsets/team-a/train.job jobs/team-a/train ");
  // The name that the gangs of Jobs had before.
  CHECK(ask("train-job-group-scheduling") == "jobsets/team-a/train-job jobs/team-a/train ");
  CHECK(ask("-group-scheduling").empty());
  CHECK(ask("something").empty());
}

}  // namespace group_scheduling_config_map_test
