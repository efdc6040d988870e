// What an admission gives to the pods that start with it: one list for Jobs, pod groups and the pods of serving sets.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/pod/pod_group.h"
#include "reconcilers/job/job_workload_infos.h"
#include "reconcilers/job/job_workload_run.h"
#include "reconcilers/pod/pod_workload_run.h"
#include "state/index/indexes.h"
#include "test/reconcilers/job/queued_train.h"
#include "test/reconcilers/pod/group_member.h"
#include "test/reconcilers/serving/serving_cluster.h"

namespace start_contributions_test {

using namespace muster;
using namespace muster::test;
using nlohmann::json;
using reconcilers::NoStart;
using reconcilers::Plan;
using reconcilers::StartContribution;
using reconcilers::StartContributions;

namespace {

constexpr const char* kRack = "example.com/rack";
constexpr const char* kConflict =
    "invalid admission check PodSetUpdate: conflict for labels: conflict for key=example.com/rack, value1=r2, "
    "value2=r1";

// The smallest contribution: a label.
Outcome<NoStart> add_rack(const reconcilers::StartContext&, const PodSetAssignment&, PodSetInfo& info) {
  PodSetInfo rack;
  rack.labels.emplace(kRack, "r1");
  if (auto merged = merge(info, rack); !merged) return fail_with(NoStart{.message = merged.error().message});
  return Done{};
}

constexpr StartContribution kRackContribution{.name = "rack", .add = &add_rack};

StartContributions with_rack() {
  static const std::vector<const StartContribution*> list = [] {
    const StartContributions own = reconcilers::all_start_contributions();
    std::vector<const StartContribution*> contributions(own.begin(), own.end());
    contributions.push_back(&kRackContribution);
    return contributions;
  }();
  return list;
}

// Calls `use` with the context of the Job of queued_train.h.
template <class Use>
auto with_train(const JobCluster& cluster, StartContributions contributions, Use use) {
  const TypedObject* object = cluster.state.find(kJobs, kNs, "train");
  REQUIRE(object != nullptr);
  const jobs::QueuedJob job(jobs::batch_job, *object);
  return use(reconcilers::JobContext{cluster.context(), job, contributions});
}

void start_train(Queued& cluster) {
  Plan plan;
  with_train(cluster, with_rack(), [&](const reconcilers::JobContext& context) {
    reconcilers::start(context, *cluster.state.find<Workload>(kNs, cluster.workload), plan);
  });
  cluster.apply(plan);
}

void start_group(JobCluster& cluster, const std::string& name) {
  const auto group =
      std::make_shared<const PodGroup>(jobs::make_pod_group(cluster.state.share_by(state::kPodsByGroup, {kNs, name}),
                                                            name, cluster.settings.queues.rules, cluster.now().wall));
  const TypedObject object = group;
  const jobs::QueuedJob job(jobs::plain_pod, object);
  const reconcilers::JobContext context{cluster.context(), job, with_rack()};
  Plan plan;
  reconcilers::start_pods({*group, context}, *cluster.state.find<Workload>(kNs, name), plan);
  cluster.apply(plan);
}

std::string end_of(const JobCluster& cluster, const std::string& workload) {
  for (const json& condition : cluster.status(kWorkloads, workload).value("conditions", json::array())) {
    if (condition["type"] == "Finished")
      return condition["reason"].get<std::string>() + ": " + condition.value("message", "");
  }
  return "";
}

// A group of one pod that waits, with quota.
JobCluster admitted_group(const json& more_labels) {
  JobCluster cluster = cluster_of_pods({{"config", json::object()}});
  cluster.reconcilers = {&reconcilers::pod_workload_reconciler};
  json pod = group_member();
  pod["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
  pod["metadata"]["labels"].update(more_labels);
  cluster.put(kQueuedPods, pod);
  cluster.settle_concerned();
  cluster.edit(kWorkloads, "group", [](json& workload) {
    json admission = admission_of(1, {{"cpu", "f1"}}, {{"cpu", 1}});
    admission["podSetAssignments"][0]["name"] = workload["spec"]["podSets"][0]["name"];
    workload["status"] = {
        {"admission", std::move(admission)},
        {"conditions", json::array({true_condition("QuotaReserved", "R"), true_condition("Admitted", "R")})}};
  });
  return cluster;
}

}  // namespace

TEST_CASE("start contributions: a label is added to the pods of a Job, beside those of muster's own list") {
  Queued cluster;
  cluster.admit();
  start_train(cluster);
  CHECK(cluster.runs());
  json started = cluster.get(kJobs, "train")["spec"]["template"];
  CHECK(started["metadata"]["labels"][kRack] == "r1");
  CHECK(started["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "main");
  CHECK(started["spec"]["nodeSelector"] == json{{"pool", "a"}});
}

TEST_CASE("start contributions: a label is added to the pods of a group and of a serving set") {
  JobCluster group = admitted_group(json::object());
  serving::Cluster set;
  set.admit_set_of_one();
  start_group(group, "group");
  start_group(set, serving::kWorkload);
  for (const json& pod : {group.get(kQueuedPods, "a"), set.get(kQueuedPods, "srv-0")}) {
    CHECK(pod["metadata"]["labels"].value(kRack, "") == "r1");
    CHECK_FALSE(pod["metadata"]["labels"].value("kueue.x-k8s.io/podset", "").empty());
    CHECK(pod["spec"]["nodeSelector"] == json{{"type", "a"}});
    CHECK(array_at(pod, {"spec", "schedulingGates"}).empty());
  }
}

TEST_CASE("start contributions: what the pods have otherwise ends the Workload with the same sentence for each kind") {
  Queued train;
  train.admit();
  train.edit(kJobs, "train", [](json& job) { job["spec"]["template"]["metadata"]["labels"][kRack] = "r2"; });
  start_train(train);
  CHECK_FALSE(train.runs());
  CHECK(end_of(train, train.workload) == std::string("FailedToStart: ") + kConflict);

  JobCluster group = admitted_group({{kRack, "r2"}});
  start_group(group, "group");
  CHECK(end_of(group, "group") == std::string("FailedToStart: ") + kConflict);

  serving::Cluster set;
  set.admit_set_of_one();
  set.edit(kQueuedPods, "srv-0", [](json& pod) { pod["metadata"]["labels"][kRack] = "r2"; });
  start_group(set, serving::kWorkload);
  CHECK(end_of(set, serving::kWorkload) == std::string("FailedToStart: ") + kConflict);
}

TEST_CASE("start contributions: the first error counts, and only a missing flavor is waited for") {
  Queued cluster;
  cluster.admit();
  const auto error = [&](StartContributions contributions) {
    return with_train(cluster, contributions, [&](const reconcilers::JobContext& context) {
      const auto infos = infos_of_admission(context, *cluster.state.find<Workload>(kNs, cluster.workload));
      REQUIRE_FALSE(infos);
      return std::pair(infos.error().message, infos.error().retry);
    });
  };
  const auto update = [&](const char* label, const char* value) {
    cluster.edit(kWorkloads, cluster.workload, [&](json& workload) {
      workload["status"]["admissionChecks"] =
          json::array({{{"name", "c"},
                        {"state", "Ready"},
                        {"podSetUpdates", json::array({{{"name", "main"}, {"labels", {{label, value}}}}})}}});
    });
  };
  update("kueue.x-k8s.io/podset", "other");
  CHECK(error(with_rack()) ==
        std::pair(std::string("in admission check \"c\": invalid admission check PodSetUpdate: conflict for labels: "
                              "conflict for key=kueue.x-k8s.io/podset, value1=main, value2=other"),
                  false));
  update(kRack, "r2");
  CHECK(error(with_rack()) == std::pair(std::string(kConflict), false));
  cluster.remove(kResourceFlavors, "f");
  CHECK(error(reconcilers::all_start_contributions()) ==
        std::pair(std::string("ResourceFlavor f does not exist"), true));
}

}  // namespace start_contributions_test
