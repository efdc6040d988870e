#include "reconcilers/jobset/jobset.h"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "manifests/names.h"
#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace std::chrono_literals;
using namespace muster::test;

namespace {

void own_by(json& job, const char* jobset, const char* uid) {
  job["metadata"]["ownerReferences"] = controlled_by(kJobSets, jobset, uid);
}

}  // namespace

TEST_CASE("jobset: what is planned first in each situation") {
  struct Row {
    std::string name;
    json spec;
    std::function<void(JobSetCluster&)> arrange;
    Texts expected;
  };
  const Row rows[] = {
      {"a new JobSet gets its Service and all Jobs", json::object(), [](JobSetCluster&) {}, kCreateAll},
      {"without host names there is no Service",
       {{"network", {{"enableDNSHostnames", false}}}},
       [](JobSetCluster&) {},
       {"create jobs/train-driver-0", "create jobs/train-workers-0", "create jobs/train-workers-1"}},
      {"a JobSet of another controller is left alone",
       {{"managedBy", "kueue.x-k8s.io/multikueue"}},
       [](JobSetCluster&) {},
       {}},
      {"a JobSet that names the JobSet controller is managed",
       {{"managedBy", "jobset.sigs.k8s.io/jobset-controller"}},
       [](JobSetCluster&) {},
       kCreateAll},
      {"beside upstream's controller nothing is done",
       json::object(),
       [](JobSetCluster& cluster) { cluster.settings.queues.rules.jobset_mode = JobSetMode::kExternal; },
       {}},
      {"a JobSet that is being deleted is left to the garbage collector",
       json::object(),
       [](JobSetCluster& cluster) {
         cluster.patch(kJobSets, "train", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}});
       },
       {}},
      {"a JobSet that is gone is left to the garbage collector",
       json::object(),
       [](JobSetCluster& cluster) { cluster.vanish(kJobSets, "train"); },
       {}},
      {"a Job that vanishes is made again",
       json::object(),
       [](JobSetCluster& cluster) {
         cluster.settle();
         cluster.vanish(kJobs, "train-workers-1");
       },
       {"create jobs/train-workers-1"}},
      {"a Service that vanishes is made again",
       json::object(),
       [](JobSetCluster& cluster) {
         cluster.settle();
         cluster.vanish(kServices, "train");
       },
       {"create services/train"}},
      {"a Job that is being deleted is not replaced before it has gone",
       json::object(),
       [](JobSetCluster& cluster) {
         cluster.settle();
         cluster.patch(kJobs, "train-driver-0", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}});
       },
       {}},
      {"the Service of another JobSet with the same subdomain is shared",
       {{"network", {{"subdomain", "shared"}}}},
       [](JobSetCluster& cluster) {
         cluster.put(kServices, {{"metadata", {{"name", "shared"}}}});
       },
       {"create jobs/train-driver-0", "create jobs/train-workers-0", "create jobs/train-workers-1"}},
      {"a foreign Service that muster cannot see is tolerated",
       json::object(),
       [](JobSetCluster& cluster) {
         cluster.state.writes().note_name_conflict({&kServices, kNs, "train"}, cluster.now().monotonic + 1min);
       },
       {"create jobs/train-driver-0", "create jobs/train-workers-0", "create jobs/train-workers-1"}},
      {"Jobs that a deleted namesake has left behind are waited for",
       json::object(),
       [](JobSetCluster& cluster) {
         json job = {{"metadata", {{"name", "train-driver-0"}}}};
         own_by(job, "train", "former-uid");
         cluster.put(kJobs, std::move(job));
       },
       {"create services/train", "create jobs/train-workers-0", "create jobs/train-workers-1"}},
      {"a Job whose attempt cannot be read is replaced",
       json::object(),
       [](JobSetCluster& cluster) {
         cluster.settle();
         cluster.patch(kJobs, "train-driver-0",
                       {{"metadata", {{"labels", {{"jobset.sigs.k8s.io/restart-attempt", "many"}}}}}});
       },
       {"delete jobs/train-driver-0"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobSetCluster cluster(train_jobset(row.spec));
    row.arrange(cluster);
    CHECK(JobSetCluster::texts(cluster.reconcile()) == row.expected);
    cluster.settle();
  }
}

TEST_CASE("jobset: no more than ten thousand Jobs of a JobSet run at a time") {
  json jobset = train_jobset();
  jobset["spec"]["replicatedJobs"][1]["replicas"] = 10'300;
  JobSetCluster cluster(jobset);
  const auto creates = [](const Plan& plan) {
    return std::count_if(plan.writes.begin(), plan.writes.end(),
                         [](const Write& write) { return write.verb == Verb::kCreate && *write.target.type == kJobs; });
  };
  int64_t made = 0;
  for (int rounds = 0; rounds < 130; ++rounds) {
    const Plan plan = cluster.reconcile();
    made += creates(plan);
    cluster.apply(plan);
  }
  CHECK(made == 10'000);
  cluster.complete("train-workers-0");
  cluster.complete("train-workers-1");
  CHECK(creates(cluster.reconcile()) == 2);
}

TEST_CASE("jobset: from creation until all pods run one status write is enough") {
  JobSetCluster cluster;
  CHECK(cluster.settle() == kCreateAll);
  cluster.run("train-driver-0");
  CHECK(cluster.settle().empty());
  cluster.run("train-workers-0");
  CHECK(cluster.settle().empty());
  cluster.run("train-workers-1");
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  CHECK(cluster.counts("driver") == "active=1 ready=1");
  CHECK(cluster.counts("workers") == "active=2 ready=2");
  CHECK(cluster.status_writes() == 1);
  CHECK(cluster.events.empty());
}

TEST_CASE("jobset: a Job of somebody else in the way is told about and left alone") {
  JobSetCluster cluster;
  cluster.put(kJobs, {{"metadata", {{"name", "train-driver-0"}}}});
  cluster.settle();
  CHECK(cluster.jobs().size() == 3);
  REQUIRE_FALSE(cluster.events.empty());
  CHECK(cluster.events[0].reason == "JobCreationFailed");
  CHECK(cluster.events[0].type == kWarningEvent);
  CHECK(cluster.events[0].note.find("team-a/train-driver-0") != std::string::npos);

  // Its end is heard of by the name alone.
  std::vector<ObjectKey> keys;
  jobset_reconciler.requests_for(cluster.state, read_object(kJobs, cluster.get(kJobs, "train-driver-0")), keys);
  REQUIRE(keys.size() == 1);
  CHECK(to_text(keys[0]) == "jobsets/team-a/train");
  cluster.vanish(kJobs, "train-driver-0");
  CHECK(cluster.settle() == Texts{"create jobs/train-driver-0"});
}

TEST_CASE("jobset: changed parallelism reaches the Jobs that are there if the gate is on") {
  struct Row {
    std::string name;
    bool enabled;
    int completions;
    Texts expected;
  };
  const Row rows[] = {
      {"the gate is on", true, 5, {"patch jobs/train-workers-1"}},
      {"the gate is off", false, 5, {}},
      {"completions differ from parallelism and Kubernetes would refuse it", true, 7, {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobSetCluster cluster = running();
    cluster.complete("train-workers-0");
    cluster.settle();
    cluster.settings.elastic_jobsets = row.enabled;
    cluster.edit(kJobSets, "train", [&](json& jobset) {
      json& spec = jobset["spec"]["replicatedJobs"][1]["template"]["spec"];
      spec["parallelism"] = 5;
      spec["completions"] = row.completions;
    });
    const Plan plan = cluster.reconcile();
    CHECK(JobSetCluster::texts(plan) == row.expected);
    if (row.expected.empty()) continue;
    CHECK(plan.writes[0].body["spec"] == json{{"parallelism", 5}, {"completions", 5}});
    cluster.apply(plan);
    for (const std::string& text : cluster.settle()) CHECK(text == "status jobsets/train");
  }
}

TEST_CASE("jobset: objects concern the JobSets that act on them") {
  JobSetCluster cluster(train_jobset({{"network", {{"subdomain", "shared"}}}}));
  json owned = {{"metadata", {{"name", "any"}, {"namespace", kNs}}}};
  own_by(owned, "other", "other-uid");
  const json by_name = {{"metadata", {{"name", "train-workers-0"}, {"namespace", kNs}}}};
  const json elsewhere = {{"metadata", {{"name", "train-workers-0"}, {"namespace", "team-b"}}}};
  const json service = {{"metadata", {{"name", "shared"}, {"namespace", kNs}}}};
  struct Row {
    std::string name;
    TypedObject object;
    Texts expected;
  };
  const Row rows[] = {
      {"a JobSet itself", read_object(kJobSets, cluster.get(kJobSets, "train")), {"jobsets/team-a/train"}},
      {"a Job its controller", read_object(kJobs, owned), {"jobsets/team-a/other"}},
      {"a Job the JobSet that wants its name", read_object(kJobs, by_name), {"jobsets/team-a/train"}},
      {"a Job of another namespace nobody", read_object(kJobs, elsewhere), {}},
      {"a ConfigMap its controller", read_object(kConfigMaps, owned), {"jobsets/team-a/other"}},
      {"a Service whoever uses its name", read_object(kServices, service), {"jobsets/team-a/train"}},
      {"a Pod nobody", read_object(kPods, by_name), {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    std::vector<ObjectKey> keys;
    jobset_reconciler.requests_for(cluster.state, row.object, keys);
    Texts texts;
    for (const ObjectKey& key : keys) texts.push_back(to_text(key));
    CHECK(texts == row.expected);
  }
}

TEST_CASE("jobset: weird objects are survived") {
  const json weird[] = {
      {{"spec", nullptr}},
      {{"spec", {{"replicatedJobs", nullptr}}}},
      {{"spec", {{"replicatedJobs", json::array({nullptr, 7, json::object()})}}}},
      {{"spec", {{"replicatedJobs", json::array({{{"name", "a"}, {"replicas", -5}}})}}}},
      {{"spec", {{"replicatedJobs", json::array({{{"name", "a"}, {"replicas", 2'000'000'000}}})}}}},
      {{"spec", {{"replicatedJobs", json::array({{{"name", "a"}, {"template", {{"spec", {{"template", 5}}}}}}})}}}},
      {{"spec", {{"replicatedJobs", json::array({{{"name", "a"}, {"template", {{"metadata", "x"}}}}})}}}},
      {{"spec",
        {{"replicatedJobs",
          json::array({{{"name", "a"}, {"dependsOn", json::array({{{"name", "a"}}, {{"name", "nobody"}}, 3})}}})}}}},
  };
  for (const json& change : weird) {
    const std::string text = change.dump();
    INFO(text);
    json jobset = train_jobset();
    jobset.merge_patch(change);
    JobSetCluster cluster(jobset);
    const Plan plan = cluster.reconcile();
    CHECK(plan.writes.size() <= 501);
    CHECK(JobSetCluster::texts(cluster.reconcile()) == JobSetCluster::texts(plan));
  }
}

TEST_CASE("jobset: once the definition is another controller's its JobSets are left alone") {
  for (const char* owner : {"muster", "jobset"}) {
    INFO(std::string(owner));
    JobSetCluster cluster;
    cluster.state.put_watched(
        read_object(kCustomResourceDefinitions, {{"metadata",
                                                  {{"name", manifests::kJobSetDefinitionName},
                                                   {"resourceVersion", "1"},
                                                   {"labels", {{"app.kubernetes.io/name", owner}}}}}}));
    CHECK(cluster.settle().empty() == (std::string(owner) != "muster"));
  }
}

TEST_CASE("jobset: what the API server refuses to create is told on the JobSet") {
  JobSetCluster cluster;
  Texts reasons;
  for (const Write& write : cluster.reconcile().writes) {
    REQUIRE(write.refusal.has_value());
    CHECK(write.refusal->type == kWarningEvent);
    CHECK(write.refusal->regarding.uid == "train-uid");
    reasons.push_back(write.refusal->reason + ": " + write.refusal->note);
  }
  CHECK(reasons == Texts{"HeadlessServiceCreationFailed: Service team-a/train cannot be created: ",
                         "JobCreationFailed: Job team-a/train-driver-0 cannot be created: ",
                         "JobCreationFailed: Job team-a/train-workers-0 cannot be created: ",
                         "JobCreationFailed: Job team-a/train-workers-1 cannot be created: "});
}

TEST_CASE("jobset: Jobs that are refused do not hold back those of another template") {
  JobSetCluster cluster;
  const state::Maker workers{"train-uid", "Jobs of workers"};
  cluster.state.writes().pauses().answered(workers, state::WritePauses::Answer::kRefused, cluster.now().monotonic);
  CHECK(cluster.settle() == Texts{"create services/train", "create jobs/train-driver-0"});
  CHECK(cluster.reconcile().again_at == cluster.now().wall + 1s);
  // After the pause one is tried.
  cluster.pass(1s);
  Texts created;
  for (const Write& write : cluster.reconcile().writes) {
    if (write.verb == Verb::kCreate) created.push_back(to_text(write.target));
  }
  CHECK(created == Texts{"jobs/team-a/train-workers-0"});
}

TEST_CASE("jobset: the Jobs of one template have one maker, and so have those that are made again") {
  JobSetCluster cluster;
  for (const Write& write : cluster.reconcile().writes) {
    REQUIRE(write.maker.has_value());
    CHECK(write.maker->object == "train-uid");
    const bool worker = write.target.name.starts_with("train-workers-");
    CHECK((write.maker->part == "Jobs of workers") == worker);
  }
}

TEST_CASE("jobset: a Job that is deleted again and again does not run while its deletion waits") {
  JobSetCluster cluster;
  cluster.settle();
  json surplus = {{"metadata",
                   {{"name", "train-workers-7"},
                    {"labels",
                     {{"jobset.sigs.k8s.io/replicatedjob-name", "workers"},
                      {"jobset.sigs.k8s.io/job-index", "7"},
                      {"jobset.sigs.k8s.io/restart-attempt", "0"}}}}},
                  {"spec", {{"suspend", false}}}};
  own_by(surplus, "train", "train-uid");
  cluster.put(kJobs, surplus);
  const auto planned = [&] {
    Texts verbs;
    for (const Write& write : cluster.reconcile().writes) {
      CHECK(write.target.name == "train-workers-7");
      CHECK(write.maker.has_value() == (write.verb == Verb::kDelete));
      verbs.emplace_back(write.verb == Verb::kDelete ? "delete" : "suspend");
    }
    return verbs;
  };
  CHECK(planned() == Texts{"delete"});
  const state::Maker maker{"train-uid", "Jobs before attempt 0"};
  REQUIRE(cluster.state.writes().pauses().ask_to_delete(maker, cluster.now().monotonic).granted);
  CHECK(planned() == Texts{"suspend", "delete"});
  cluster.pass(1s);
  CHECK(planned() == Texts{"delete"});
}

}  // namespace jobset_test
