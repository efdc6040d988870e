#include "reconcilers/jobset/jobset_resume.h"

#include <doctest/doctest.h>

#include "reconcilers/jobset/jobset_child.h"
#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_resume_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

const std::string kRecord(kAppliedTemplateAnnotation);

json toleration(const char* key) {
  return {{"key", key}, {"operator", "Exists"}};
}

// A JobSet in a queue, whose templates are as an admission has made them.
json admitted(const json& pod_template, bool queued = true) {
  json object = train_jobset();
  if (queued) object["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "team"}};
  for (json& replicated : object["spec"]["replicatedJobs"])
    replicated["template"]["spec"]["template"].merge_patch(pod_template);
  return object;
}

const json kSpot = {{"metadata", {{"labels", {{"tier", "spot"}}}, {"annotations", {{"epoch", "1"}}}}},
                    {"spec",
                     {{"nodeSelector", {{"spot", "yes"}, {"zone", "a"}}},
                      {"tolerations", {toleration("own"), toleration("spot")}},
                      {"schedulingGates", json::array({{{"name", "spot"}}})}}}};
const json kOnDemand = {{"spec", {{"nodeSelector", {{"zone", "b"}}}, {"tolerations", {toleration("own")}}}}};

// Applies the patch that resumes the Job for a JobSet with these templates.
void resume(json& job, const json& pod_template, bool queued = true) {
  const JobSetPtr jobset = read_jobset(admitted(pod_template, queued));
  job.merge_patch(resume_patch(*read_job(job), jobset->replicated_jobs[0], records_templates(*jobset)));
}

}  // namespace

TEST_CASE("jobset resume: a Job is patched no more than it needs") {
  const JobSetPtr jobset = read_jobset(train_jobset());
  const JobPtr job = read_job({{"metadata", {{"name", "train-driver-0"}, {"resourceVersion", "7"}}}});
  CHECK(resume_patch(*job, jobset->replicated_jobs[0], false) == json{{"spec", {{"suspend", false}}}});
  CHECK(resume_patch(*job, jobset->replicated_jobs[0], true) == json{{"spec", {{"suspend", false}}}});
}

TEST_CASE("jobset resume: what the earlier admission gave goes, what others gave stays") {
  json queued = admitted(kSpot);
  const JobSetPtr jobset = read_jobset(queued);
  json job = ChildJobMaker(*jobset, jobset->replicated_jobs.at(0)).make(0);
  json& pod_template = job["spec"]["template"];
  pod_template.merge_patch(
      {{"metadata", {{"labels", {{"webhook", "1"}}}}}, {"spec", {{"nodeSelector", {{"arch", "arm"}}}}}});
  pod_template["spec"]["tolerations"].push_back(toleration("webhook"));
  pod_template["spec"]["schedulingGates"].push_back({{"name", "webhook"}});

  SUBCASE("made with the first flavor") {}
  SUBCASE("resumed with the first flavor") {
    resume(job, kSpot);
  }
  SUBCASE("resumed twice") {
    resume(job, kOnDemand);
    resume(job, kSpot);
  }
  resume(job, kOnDemand);
  CHECK(job["spec"]["suspend"] == false);
  CHECK(pod_template["spec"]["nodeSelector"] == json{{"zone", "b"}, {"arch", "arm"}});
  CHECK(pod_template["spec"]["tolerations"].size() == 2);
  CHECK(pod_template["spec"]["schedulingGates"] == json::array({{{"name", "webhook"}}}));
  CHECK_FALSE(pod_template["metadata"]["labels"].contains("tier"));
  CHECK_FALSE(pod_template["metadata"]["annotations"].contains("epoch"));
  CHECK(pod_template["metadata"]["labels"]["webhook"] == "1");
  CHECK(pod_template["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] == "train");

  // Out of the queue: nothing is recorded any more.
  resume(job, json::object(), false);
  CHECK(pod_template["spec"]["nodeSelector"] == json{{"arch", "arm"}});
  CHECK(pod_template["spec"]["tolerations"] == json::array({toleration("webhook")}));
  CHECK_FALSE(job["metadata"]["annotations"].contains(kRecord));
}

TEST_CASE("jobset resume: only Jobs of JobSets in queues record their template") {
  for (const bool queued : {true, false}) {
    const JobSetPtr jobset = read_jobset(admitted(kSpot, queued));
    const json job = ChildJobMaker(*jobset, jobset->replicated_jobs.at(0)).make(0);
    CHECK(job["metadata"]["annotations"].contains(kRecord) == queued);
  }
  json below = admitted(kSpot, false);
  below["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                                                       {"kind", "TrainJob"},
                                                       {"name", "t"},
                                                       {"uid", "t"},
                                                       {"controller", true}}});
  CHECK(records_templates(*read_jobset(below)));
}

TEST_CASE("jobset resume: a record may be anything, and has a limit") {
  for (const char* record :
       {"", "text", "[]", "{\"nodeSelector\":{\"zone\":1},\"tolerations\":\"all\",\"labels\":[1,null]}"}) {
    json job = {{"metadata", {{"name", "train-driver-0"}, {"annotations", {{kRecord, record}}}}},
                {"spec", {{"suspend", true}, {"template", {{"spec", {{"nodeSelector", {{"zone", "a"}}}}}}}}}};
    resume(job, kOnDemand);
    CHECK(job["spec"]["template"]["spec"]["nodeSelector"] == json{{"zone", "b"}});
  }
  json large = json::object();
  for (int i = 0; i < 2000; ++i) large["label" + std::to_string(i)] = "v";
  CHECK(applied_template({{"metadata", {{"labels", large}}}}).empty());
  CHECK(applied_template("text").empty());
}

TEST_CASE("jobset resume: a Job whose containers are to have other resources is made again") {
  struct Row {
    const char* name;
    bool gate;
    json resources;
    bool remade;
  };
  const Row rows[] = {
      {"less", true, {{"requests", {{"cpu", "1m"}}}}, true},
      {"more", true, {{"requests", {{"cpu", "64"}}}}, true},
      {"a limit", true, {{"limits", {{"memory", "64Gi"}}}}, true},
      {"the same", true, nullptr, false},
      {"without the gate", false, {{"requests", {{"cpu", "64"}}}}, false},
  };
  for (const Row& row : rows) {
    for (const bool recorded : {true, false}) {
      INFO(row.name, recorded);
      // Limits alone show in the record only.
      if (!recorded && row.resources.is_object() && row.resources.contains("limits")) continue;
      JobSetCluster cluster(train_jobset({{"suspend", true}}));
      auto& gates = cluster.settings.queues.rules.jobset_feature_gates;
      if (row.gate && recorded) gates = {{"MutablePodResourcesForSuspendedJobSets", true}};
      cluster.settle();
      if (row.gate) gates = {{"MutablePodResourcesForSuspendedJobSets", true}};
      json replicated = cluster.get(kJobSets, "train")["spec"]["replicatedJobs"];
      json& container = replicated[0]["template"]["spec"]["template"]["spec"]["containers"][0];
      if (!row.resources.is_null()) container["resources"] = row.resources;
      cluster.patch(kJobSets, "train", {{"spec", {{"replicatedJobs", replicated}, {"suspend", false}}}});
      const Texts writes = cluster.settle();
      const bool remade = std::find(writes.begin(), writes.end(), "delete jobs/train-driver-0") != writes.end();
      CHECK(remade == row.remade);
      CHECK(std::find(writes.begin(), writes.end(), "delete jobs/train-workers-0") == writes.end());
      if (!remade) continue;
      cluster.collect_garbage();
      cluster.settle();
      const json job = cluster.get(kJobs, "train-driver-0");
      CHECK(job["spec"]["suspend"] == false);
      CHECK(job["spec"]["template"]["spec"]["containers"][0]["resources"] == row.resources);
    }
  }
}

}  // namespace jobset_resume_test
