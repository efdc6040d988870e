// The largest objects that can be stored, one of each kind that grows: no step of the engine over
// any of them takes longer than 50 ms of its thread's time, so that the turn of other objects comes.
#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>

#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "test/engine/served_engine.h"

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

constexpr double kLongest = 0.05;
// etcd refuses more than 1.5 MiB in one request.
constexpr size_t kBytes = 1'400'000;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

struct Slowest final : engine::StepWatch {
  std::string step;
  double seconds = 0;
  std::string now_in;
  double began_at = 0;
  void began(std::string_view what, const ObjectKey* key) override {
    now_in = std::string(what) + (key == nullptr ? "" : " " + to_text(*key));
    began_at = cpu_seconds();
  }
  void ended() override {
    const double took = cpu_seconds() - began_at;
    if (took > seconds) {
      seconds = took;
      step = now_in;
    }
  }
};

// A pod template of this many bytes of environment.
json large_template(size_t bytes) {
  json env = json::array();
  for (size_t i = 0; i * 100 < bytes; ++i)
    env.push_back({{"name", "V" + std::to_string(i)}, {"value", std::string(70, 'v')}});
  const json resources = {{"requests", {{"cpu", "1"}}}};
  return {{"metadata", {{"labels", {{"a", "b"}}}}},
          {"spec",
           {{"containers", json::array({{{"name", "c"}, {"image", "i"}, {"env", env}, {"resources", resources}}})}}}};
}

json with_barrier(json pod_template, const std::string& config_map) {
  pod_template["metadata"]["labels"][std::string(kGroupLabel)] = "true";
  pod_template["metadata"]["annotations"][std::string(kGroupEpochAnnotation)] = "e";
  pod_template["spec"]["initContainers"] =
      json::array({{{"name", kGroupInitContainer}, {"args", {"--timeout-seconds=60"}}}});
  pod_template["spec"]["volumes"] = json::array({{{"name", kGroupVolume}, {"configMap", {{"name", config_map}}}}});
  return pod_template;
}

std::string every_other_index(size_t bytes) {
  std::string text = "0";
  for (int index = 2; text.size() < bytes; index += 2) text += "," + std::to_string(index);
  return text;
}

// What the engine does about it in a minute. Of three runs the best: this machine is not ours alone.
void check(const std::function<void(ServedEngine&)>& put, bool native = true) {
  Slowest best;
  best.seconds = std::numeric_limits<double>::max();
  for (int run = 0; run < 3 && best.seconds > kLongest; ++run) {
    Slowest slowest;
    engine::EngineSettings settings;
    settings.watch = &slowest;
    if (native) settings.reconcilers.queues.rules.jobset_mode = JobSetMode::kNative;
    settings.reconcilers.queues.rules.frameworks.emplace("kubeflow.org/mpijob");
    ServedEngine served(std::move(settings));
    served.put_queues("1000");
    put(served);
    for (int i = 0; i < 12; ++i) {
      served.plan();
      served.writes.clear();
      served.pass(5s);
      served.engine.apply(engine::Tick{}, served.now());
    }
    if (slowest.seconds < best.seconds) {
      best.seconds = slowest.seconds;
      best.step = slowest.step;
    }
  }
  INFO(best.step);
  CHECK(best.seconds <= kLongest);
}

json jobset_of(json replicated_jobs) {
  return {{"spec", {{"replicatedJobs", std::move(replicated_jobs)}}}};
}

json replicated(const std::string& name, int64_t replicas, json pod_template) {
  return {{"name", name},
          {"replicas", replicas},
          {"template", {{"spec", {{"parallelism", 1}, {"completions", 1}, {"template", std::move(pod_template)}}}}}};
}

}  // namespace

TEST_CASE("largest objects: a JobSet of two billion Jobs") {
  check([](ServedEngine& served) {
    served.put(kJobSets, "set",
               jobset_of(json::array(
                   {replicated("w", 2147483647, with_barrier(large_template(100), "set-group-scheduling"))})));
  });
}

TEST_CASE("largest objects: the Workload that a JobSet of two billion Jobs has left") {
  check([](ServedEngine& served) {
    const json conditions = json::array({{{"type", "QuotaReserved"}, {"status", "True"}, {"reason", "QuotaReserved"}},
                                         {{"type", "Evicted"}, {"status", "True"}, {"reason", "Preempted"}}});
    const json assignment = {{"name", "w"}, {"count", 2147483647}};
    served.put(
        kWorkloads, "jobset-set-12345",
        {{"metadata", {{"labels", {{kJobUidLabel, "gone"}}}}},
         {"spec",
          {{"queueName", "q"},
           {"podSets", json::array({{{"name", "w"}, {"count", 2147483647}, {"template", large_template(100)}}})}}},
         {"status",
          {{"admission", {{"clusterQueue", "cq"}, {"podSetAssignments", json::array({assignment})}}},
           {"conditions", conditions}}}});
  });
}

TEST_CASE("largest objects: a JobSet whose template is as large as an object can be") {
  check([](ServedEngine& served) {
    served.put(kJobSets, "set", jobset_of(json::array({replicated("w", 100000, large_template(kBytes))})));
  });
}

TEST_CASE("largest objects: a JobSet of very many replicated jobs") {
  for (const bool native : {true, false}) {
    check(
        [](ServedEngine& served) {
          json list = json::array();
          for (int i = 0; i < 1024; ++i)
            list.push_back(
                replicated("w" + std::to_string(i), 1000, with_barrier(large_template(700), "set-group-scheduling")));
          served.put(kJobSets, "set", jobset_of(std::move(list)));
        },
        native);
  }
}

TEST_CASE("largest objects: a gang Job with gaps in its indexes wherever there can be some") {
  check([](ServedEngine& served) {
    served.put(kJobs, "job",
               {{"metadata", {{"annotations", {{kGroupTimeoutAnnotation, "60"}}}}},
                {"spec",
                 {{"parallelism", 2147483647},
                  {"completions", 2147483647},
                  {"completionMode", "Indexed"},
                  {"template", with_barrier(large_template(100), "job.job-group-scheduling")}}},
                {"status", {{"succeeded", 100000}, {"completedIndexes", every_other_index(kBytes)}}}});
  });
}

TEST_CASE("largest objects: a queued Job whose template is as large as an object can be") {
  check([](ServedEngine& served) {
    served.put(kJobs, "job",
               {{"metadata", {{"labels", {{kQueueNameLabel, "lq"}}}}},
                {"spec",
                 {{"suspend", true},
                  {"parallelism", 2147483647},
                  {"completions", 2147483647},
                  {"template", large_template(kBytes)}}}});
  });
}

TEST_CASE("largest objects: a Job that runs, and of which only the metadata changes") {
  check([](ServedEngine& served) {
    served.put(kResourceFlavors, "f", {{"spec", {{"nodeLabels", {{"zone", "a"}}}}}});
    const json stored = large_template(kBytes);
    json started = stored;
    started["spec"]["nodeSelector"] = {{"zone", "a"}};
    served.put(kWorkloads, "w",
               {{"metadata", {{"ownerReferences", controlled_by(kJobs, "job", "job-uid")}}},
                {"spec", workload_of(1, stored, {{"queueName", "lq"}})["spec"]},
                {"status",
                 {{"admission", admission_of(1, {{"cpu", "f"}}, {{"cpu", "1"}})},
                  {"conditions",
                   {condition_at(served.stamp(), "QuotaReserved", "True", "QuotaReserved"),
                    condition_at(served.stamp(), "Admitted", "True", "Admitted")}}}}});
    for (const char* note : {"1", "2", "3"}) {
      served.put(kJobs, "job",
                 {{"metadata", {{"labels", {{kQueueNameLabel, "lq"}}}, {"annotations", {{"note", note}}}}},
                  {"spec", {{"parallelism", 1}, {"completions", 1}, {"template", started}}},
                  {"status", {{"active", 1}, {"ready", 1}}}});
      served.plan();
      CHECK(std::none_of(served.writes.begin(), served.writes.end(),
                         [](const engine::Command& command) { return *command.write.target.type == kJobs; }));
    }
  });
}

TEST_CASE("largest objects: a Workload of eight large pod sets that may shrink") {
  check([](ServedEngine& served) {
    json pod_sets = json::array();
    for (int i = 0; i < 8; ++i)
      pod_sets.push_back({{"name", "p" + std::to_string(i)},
                          {"count", 2147483647},
                          {"minCount", 1},
                          {"template", large_template(kBytes / 8)}});
    served.put(kWorkloads, "w", {{"spec", {{"queueName", "lq"}, {"podSets", pod_sets}}}});
  });
}

TEST_CASE("largest objects: a ClusterQueue of all the flavors that there can be") {
  check([](ServedEngine& served) {
    json groups = json::array();
    for (int group = 0; group < 16; ++group) {
      json flavors = json::array();
      const std::string resource = group == 0 ? "cpu" : "example.com/r" + std::to_string(group);
      for (int flavor = 0; flavor < 16; ++flavor)
        flavors.push_back({{"name", "f" + std::to_string(group) + "-" + std::to_string(flavor)},
                           {"resources", json::array({{{"name", resource}, {"nominalQuota", "1"}}})}});
      groups.push_back({{"coveredResources", {resource}}, {"flavors", flavors}});
    }
    served.put_cluster_queue("cq", "1", {{"resourceGroups", groups}, {"cohortName", "pool"}});
    for (int i = 0; i < 100; ++i) served.put_workload("w" + std::to_string(i), "1");
  });
}

TEST_CASE("largest objects: a gang's ConfigMap that is full of decisions") {
  check([](ServedEngine& served) {
    served.put(
        kJobs, "job",
        {{"spec", {{"parallelism", 2}, {"template", with_barrier(large_template(100), "job.job-group-scheduling")}}}});
    std::string lines;
    while (lines.size() < kBytes / 3) lines += "job-uid/0/epoch-" + std::to_string(lines.size()) + "\n";
    std::string deadlines;
    while (deadlines.size() < kBytes / 3)
      deadlines += "job-uid/0/e" + std::to_string(deadlines.size()) + " 2026-01-01T12:00:00Z\n";
    served.put(kConfigMaps, "job.job-group-scheduling",
               {{"metadata", {{"ownerReferences", controlled_by(kJobs, "job", "job-uid")}}},
                {"data", {{"started", lines}, {"expired", lines}, {"deadlines", deadlines}}}});
    served.put(kJobs, "job",
               {{"spec",
                 {{"suspend", true},
                  {"parallelism", 2},
                  {"template", with_barrier(large_template(100), "job.job-group-scheduling")}}}});
  });
}

TEST_CASE("largest objects: ten thousand Jobs that name an admitted job as their controller") {
  check([](ServedEngine& served) {
    const ResourceType& type = jobs::find_job_kind("kubeflow.org", "MPIJob")->type;
    const json launcher = {{"Launcher", {{"replicas", 1}, {"template", pod_template_of({{"cpu", "1"}})}}}};
    served.put(type, "whole",
               {{"metadata", {{"labels", {{kQueueNameLabel, "lq"}}}}}, {"spec", {{"mpiReplicaSpecs", launcher}}}});
    const json owners = controlled_by(type, "whole", "whole-uid");
    served.put(kWorkloads, "w",
               {{"metadata", {{"ownerReferences", owners}}},
                {"spec", workload_of(1, pod_template_of({{"cpu", "1"}}))["spec"]},
                {"status",
                 {{"admission", admission_of(1, {{"cpu", "f"}}, {{"cpu", "1"}})},
                  {"conditions",
                   {condition_at(served.stamp(), "QuotaReserved", "True", "QuotaReserved"),
                    condition_at(served.stamp(), "Admitted", "True", "Admitted")}}}}});
    for (int i = 0; i < 10'000; ++i) {
      served.put(kJobs, "part-" + std::to_string(i),
                 {{"metadata", {{"ownerReferences", owners}}},
                  {"spec", {{"parallelism", 0}, {"template", pod_template_of({{"cpu", "1"}})}}}});
    }
  });
}
