// spec.volumeClaimPolicies: claims that are made once, and mounted by the pods that ask for them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_claims_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

const json kSpec = {{"accessModes", {"ReadWriteMany"}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}};

json policy(const char* name, const char* when_deleted) {
  return {{"retentionPolicy", {{"whenDeleted", when_deleted}}},
          {"templates", json::array({{{"metadata", {{"name", name}}}, {"spec", kSpec}}})}};
}

// Claim "data", which the driver's container and the workers' init container mount.
json jobset_with(json policies) {
  json object = train_jobset({{"volumeClaimPolicies", std::move(policies)}});
  json& jobs = object["spec"]["replicatedJobs"];
  const json mounts = json::array({{{"name", "data"}, {"mountPath", "/data"}}});
  jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts;
  jobs[1]["template"]["spec"]["template"]["spec"]["initContainers"] =
      json::array({{{"name", "fill"}, {"image", "fill"}, {"volumeMounts", mounts}}});
  return object;
}

const json kVolume = {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data-train"}}}};

}  // namespace

TEST_CASE("jobset claims: they are made beside the Jobs and owned unless they are to be retained") {
  json policies = json::array({policy("data", "Delete"), policy("kept", "Retain")});
  policies[0]["templates"][0]["metadata"]["labels"] = {{"team", "a"}, {kJobSetNameKey, "mine"}};
  policies[0]["templates"][0]["metadata"]["annotations"] = {{"note", "x"}};
  JobSetCluster cluster(jobset_with(policies));
  const Texts writes = cluster.settle();
  CHECK(std::count(writes.begin(), writes.end(), "create persistentvolumeclaims/data-train") == 1);
  CHECK(std::count(writes.begin(), writes.end(), "create persistentvolumeclaims/kept-train") == 1);
  const json owned = cluster.get(kPersistentVolumeClaims, "data-train");
  CHECK(owned["spec"] == kSpec);
  CHECK(owned["metadata"]["labels"] == json{{"team", "a"}, {kJobSetNameKey, "train"}});
  CHECK(owned["metadata"]["annotations"] == json{{"note", "x"}});
  REQUIRE(owned["metadata"]["ownerReferences"].size() == 1);
  CHECK(owned["metadata"]["ownerReferences"][0]["uid"] == "train-uid");
  CHECK(owned["metadata"]["ownerReferences"][0]["controller"] == true);
  const json kept = cluster.get(kPersistentVolumeClaims, "kept-train");
  CHECK_FALSE(kept["metadata"].contains("ownerReferences"));
  CHECK(cluster.settle().empty());
  CHECK(cluster.events.empty());
}

TEST_CASE("jobset claims: pods that mount one have its volume and others have not") {
  json object = jobset_with(json::array({policy("data", "Delete"), policy("other", "Delete")}));
  json& driver = object["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
  driver["volumes"] = json::array({{{"name", "scratch"}, {"emptyDir", json::object()}}});
  JobSetCluster cluster(object);
  cluster.settle();
  const auto volumes = [&](const char* job) { return cluster.get(kJobs, job)["spec"]["template"]["spec"]["volumes"]; };
  CHECK(volumes("train-driver-0") == json::array({driver["volumes"][0], kVolume}));
  CHECK(volumes("train-workers-1") == json::array({kVolume}));
}

TEST_CASE("jobset claims: they are there while the JobSet waits and are made again when they go") {
  json object = jobset_with(json::array({policy("data", "Delete"), policy("kept", "Retain")}));
  object["spec"]["suspend"] = true;
  JobSetCluster cluster(object);
  cluster.settle();
  CHECK(cluster.get(kPersistentVolumeClaims, "data-train").is_object());
  for (const char* name : {"data-train", "kept-train"}) {
    std::vector<ObjectKey> keys;
    jobset_reconciler.requests_for(
        cluster.state, read_object(kPersistentVolumeClaims, cluster.get(kPersistentVolumeClaims, name)), keys);
    REQUIRE(keys.size() == 1);
    CHECK(to_text(keys[0]) == "jobsets/team-a/train");
    cluster.vanish(kPersistentVolumeClaims, name);
    CHECK(cluster.settle() == Texts{std::string("create persistentvolumeclaims/") + name});
  }
}

TEST_CASE("jobset claims: one of somebody else is used and the user is told if it was to go with the JobSet") {
  struct Row {
    const char* name;
    const char* when_deleted;
    bool told;
  };
  const Row rows[] = {{"to be deleted with the JobSet", "Delete", true}, {"to be retained", "Retain", false}};
  for (const Row& row : rows) {
    for (const bool labelled : {true, false}) {
      INFO(std::string(row.name), labelled);
      JobSetCluster cluster(jobset_with(json::array({policy("data", row.when_deleted)})));
      if (labelled) {
        cluster.put(kPersistentVolumeClaims,
                    {{"metadata", {{"name", "data-train"}, {"labels", {{kJobSetNameKey, "train"}}}}}});
      } else {
        cluster.state.writes().note_name_conflict({&kPersistentVolumeClaims, kNs, "data-train"},
                                                  cluster.now().monotonic + std::chrono::minutes(1));
      }
      const Texts writes = cluster.settle();
      CHECK(std::count(writes.begin(), writes.end(), "create persistentvolumeclaims/data-train") == 0);
      CHECK(cluster.jobs().size() == 3);
      CHECK(cluster.events.empty() == !row.told);
      if (row.told) CHECK(cluster.events[0].reason == "PVCCreationFailed");
    }
  }
}

TEST_CASE("jobset claims: a refusal names the claim and holds nothing else up") {
  JobSetCluster cluster(jobset_with(json::array({policy("data", "Delete")})));
  const Plan plan = cluster.reconcile();
  size_t claims = 0, jobs = 0;
  for (const Write& write : plan.writes) {
    jobs += write.target.type == &kJobs ? 1 : 0;
    if (write.target.type != &kPersistentVolumeClaims) continue;
    ++claims;
    CHECK(write.maker == state::Maker{"train-uid", "claim data"});
    REQUIRE(write.refusal.has_value());
    CHECK(write.refusal->reason == "PVCCreationFailed");
    CHECK(write.refusal->note == "PersistentVolumeClaim team-a/data-train cannot be created: ");
  }
  CHECK(claims == 1);
  CHECK(jobs == 3);
}

TEST_CASE("jobset claims: a finished JobSet makes none") {
  JobSetCluster cluster(jobset_with(json::array({policy("data", "Retain")})));
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  cluster.complete_all();
  cluster.settle();
  cluster.vanish(kPersistentVolumeClaims, "data-train");
  CHECK(cluster.settle().empty());
}

}  // namespace jobset_claims_test
