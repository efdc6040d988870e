// What muster keeps of each kind that it watches, filled with as much as an object can have.
#include "jobs/kept/kept_object.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/config_map.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/pods/in_place_pod.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "jobs/kept/object_bytes.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"
#include "kinds/watched_kinds.h"

namespace kept_object_test {

using namespace muster;
using nlohmann::json;

namespace {

// etcd refuses more than 1.5 MiB in one request.
constexpr size_t kBytes = 1'400'000;

ReconcilerSettings settings_of(bool native) {
  ReconcilerSettings settings;
  settings.queues.rules.jobset_mode = native ? JobSetMode::kNative : JobSetMode::kExternal;
  for (const jobs::JobKind* kind : jobs::job_kinds()) settings.queues.rules.frameworks.emplace(kind->framework);
  return settings;
}

// How a tenant fills a template.
enum class Fill { kTexts, kResources, kTolerations };
constexpr Fill kFills[] = {Fill::kTexts, Fill::kResources, Fill::kTolerations};

json large_template(Fill fill, size_t bytes) {
  json container = {{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
  json spec = {{"restartPolicy", "Never"}};
  for (size_t i = 0, added = 0; added < bytes; ++i) {
    const std::string number = std::to_string(i);
    switch (fill) {
      case Fill::kTexts:
        container["args"].push_back(number + std::string(1000, 'y'));
        added += 1004;
        break;
      case Fill::kResources:
        container["resources"]["requests"]["a.b/r" + number] = "1";
        container["resources"]["limits"]["a.b/r" + number] = "1";
        added += 2 * (number.size() + 12);
        break;
      case Fill::kTolerations:
        spec["tolerations"].push_back({{"key", "k" + number}, {"operator", "Exists"}});
        added += number.size() + 32;
        break;
    }
  }
  spec["containers"] = json::array({container});
  return {{"metadata", {{"labels", {{"a", "b"}}}}}, {"spec", spec}};
}

// As many keys as there is space for: those that muster knows as well as others.
json large_metadata() {
  json metadata = {{"name", "x-group-scheduling"}, {"namespace", "team-a"}, {"uid", "u"}, {"resourceVersion", "7"}};
  for (int i = 0; i < 3000; ++i) {
    const std::string number = std::to_string(i);
    metadata["labels"]["muster.batch/k" + number] = "v";
    metadata["labels"]["example.com/k" + number] = "v";
    metadata["annotations"]["kueue.x-k8s.io/k" + number] = "v";
    metadata["finalizers"].push_back("example.com/finalizer-of-nothing-" + number);
  }
  metadata["annotations"]["kueue.x-k8s.io/admission-gated-by"] = std::string(100'000, 'a');
  return metadata;
}

json controlled_by(const char* api_version, const char* kind) {
  return json::array({{{"apiVersion", api_version},
                       {"kind", kind},
                       {"name", "nothing" + std::string(100'000, 'n')},
                       {"uid", "nothing" + std::string(100'000, 'u')},
                       {"controller", true}}});
}

void put_described(const KindDescription& kind, const json& pod_template, json& object) {
  for (const PodSetSource& source : kind.pod_sets) {
    json element = {{"name", "w"}, {"groupName", "w"}, {"replicas", 1}};
    source.pod_template.set(element, pod_template);
    source.path.set(object, source.each ? json::array({element}) : element);
  }
  if (kind.kind == "AppWrapper")
    object["spec"]["components"] = json::array(
        {{{"template", {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"spec", {{"template", pod_template}}}}}}});
  if (kind.kind == "TrainJob")
    object["spec"] = {{"runtimeRef", {{"name", "r"}}}, {"trainer", pod_template["spec"]["containers"][0]}};
  if (kind.kind == "SparkApplication") {
    const json sidecars = pod_template["spec"]["containers"];
    const json role = {{"sidecars", sidecars},
                       {"tolerations", pod_template["spec"].value("tolerations", json::array())}};
    object["spec"]["driver"] = object["spec"]["executor"] = role;
  }
}

// What a tenant can write into an object of the kind, beside the metadata.
json large_object(const ResourceType& type, Fill fill, size_t bytes) {
  json object = {{"apiVersion", type.api_version}, {"kind", type.kind}};
  const json pod_template = large_template(fill, bytes);
  if (type == kJobs || type == kStatefulSets) {
    object["spec"] = {{"suspend", true}, {"template", pod_template}};
  } else if (type == kLeaderWorkerSets) {
    object["spec"] = {{"leaderWorkerTemplate", {{"workerTemplate", pod_template}}}};
  } else if (type == kJobSets) {
    const json job = {{"spec", {{"template", pod_template}}}};
    object["spec"] = {{"suspend", true}, {"replicatedJobs", json::array({{{"name", "w"}, {"template", job}}})}};
  } else if (type.kind == kPods.kind) {
    object["spec"] = pod_template["spec"];
    object["spec"]["volumes"] =
        json::array({{{"name", kGroupVolume}, {"configMap", {{"name", std::string(bytes, 'm')}}}}});
  } else if (type == kWorkloads) {
    object["spec"] = {{"queueName", "lq"},
                      {"podSets", json::array({{{"name", "main"}, {"count", 1}, {"template", pod_template}}})}};
  } else if (type == kConfigMaps) {
    object["data"] = {{"started", "a"}, {"other", std::string(bytes, 'd')}};
  } else if (const KindDescription* described = find_described_kind(type.group, type.kind)) {
    put_described(*described, pod_template, object);
  } else {
    object["spec"] = {{"template", {{"spec", {{"replicatedJobs", json::array({pod_template})}}}}},
                      {"limits", json::array({pod_template})}};
  }
  return object;
}

size_t kept_bytes(const ResourceType& type, const json& object, const ReconcilerSettings& settings) {
  return jobs::bytes_of(jobs::kept_of(read_object(type, object), settings));
}

// Kinds of administrators, and of those who can write Workloads; and what has no bound but its own size.
bool may_be_kept_whole(const ResourceType& type) {
  return jobs::find_job_kind(type) == nullptr && type != kConfigMaps && type != kServices &&
         type != kPersistentVolumeClaims;
}

}  // namespace

TEST_CASE("of the largest object in no queue muster keeps little, whatever its kind") {
  const ReconcilerSettings settings = settings_of(false);
  int kinds = 0;
  for (const WatchedKind& kind : watched_kinds()) {
    if (may_be_kept_whole(*kind.type)) continue;
    ++kinds;
    for (const Fill fill : kFills) {
      // Lists of small values are slow to make.
      json object = large_object(*kind.type, fill, fill == Fill::kTexts ? kBytes : kBytes / 10);
      object["metadata"] = large_metadata();
      CAPTURE(kind.type->plural);
      CHECK(kept_bytes(*kind.type, object, settings) < 5 * 1024);

      object["metadata"]["ownerReferences"] = controlled_by("v1", "Nothing");
      CHECK(kept_bytes(*kind.type, object, settings) < 16 * 1024);
    }
  }
  CHECK(kinds > 15);
}

TEST_CASE("of an ordinary object in no queue muster keeps some hundred bytes") {
  const ReconcilerSettings settings = settings_of(false);
  for (const WatchedKind& kind : watched_kinds()) {
    if (may_be_kept_whole(*kind.type)) continue;
    json object = large_object(*kind.type, Fill::kTexts, 5'000);
    object["metadata"] = {
        {"name", "train-7"}, {"namespace", "team-a"}, {"uid", "91a2f6a0-64a7-4a6e-a1ba-1a3ff26a9b8e"}};
    if (kind.type->kind == kPods.kind) object["spec"].erase("volumes");
    CAPTURE(kind.type->plural);
    CHECK(kept_bytes(*kind.type, object, settings) < 1200);
  }
}

TEST_CASE("of the largest part of another job muster keeps what its pods request, within a bound") {
  const ReconcilerSettings settings = settings_of(false);
  int readable = 0;
  for (const WatchedKind& kind : watched_kinds()) {
    const jobs::JobKind* job_kind = jobs::find_job_kind(*kind.type);
    if (job_kind == nullptr || kind.type->kind == kPods.kind) continue;
    for (const Fill fill : kFills) {
      json object = large_object(*kind.type, fill, kBytes / 10);
      object["metadata"] = {{"name", "x"}, {"namespace", "team-a"}, {"uid", "u"}};
      object["metadata"]["ownerReferences"] = controlled_by("kubeflow.org/v2beta1", "MPIJob");
      CAPTURE(kind.type->plural);
      const TypedObject kept = jobs::kept_of(read_object(*kind.type, object), settings);
      CHECK(jobs::bytes_of(kept) <= jobs::kMostBytesOfAPart + 1024);
      const TypedObject read = read_object(*kind.type, object);
      // Of a TrainJob the pods are known with its runtime.
      if (!job_kind->readable(read)) continue;
      ++readable;
      REQUIRE(job_kind->readable(kept) == (fill != Fill::kResources));
      if (fill == Fill::kResources) continue;
      const std::vector<PodSet> pod_sets = job_kind->pod_set_shapes(kept, settings.queues.rules);
      const std::vector<PodSet> whole = job_kind->pod_set_shapes(read, settings.queues.rules);
      REQUIRE(pod_sets.size() == whole.size());
      for (size_t i = 0; i < whole.size(); ++i) {
        CHECK(pod_sets[i].count == whole[i].count);
        REQUIRE(pod_sets[i].pod_template.spec->containers.size() == whole[i].pod_template.spec->containers.size());
        CHECK(to_json(pod_sets[i].pod_template.spec->containers[0].resources.requests) ==
              to_json(whole[i].pod_template.spec->containers[0].resources.requests));
      }
    }
  }
  CHECK(readable > 3 * 8);
}

TEST_CASE("of a Job of a JobSet muster keeps what its pods request and claim, within a bound") {
  const ReconcilerSettings settings = settings_of(true);
  for (const Fill fill : kFills) {
    json object = large_object(kJobs, fill, kBytes / 10);
    object["spec"]["template"]["spec"]["resourceClaims"] = json::array({{{"name", "gpu"}}});
    object["metadata"] = {{"name", "x"}, {"namespace", "team-a"}, {"uid", "u"}};
    object["metadata"]["ownerReferences"] = controlled_by("jobset.x-k8s.io/v1alpha2", "JobSet");
    const TypedObject kept = jobs::kept_of(read_object(kJobs, object), settings);
    CHECK(jobs::bytes_of(kept) <= jobs::kMostBytesOfAPart + 1024);
    const PodSpecPtr& requests = std::get<JobPtr>(kept)->requests;
    // An unknown job must not run.
    REQUIRE((requests != nullptr) == (fill != Fill::kResources));
    if (requests == nullptr) continue;
    CHECK(requests->resource_claims);
    CHECK(requests->containers.at(0).resources.requests.at("cpu") == *Quantity::from_json("1"));
  }
}

TEST_CASE("what is kept of an object is kept of it again") {
  const ReconcilerSettings settings = settings_of(true);
  for (const WatchedKind& kind : watched_kinds()) {
    for (const Fill fill : kFills) {
      for (const json& owners : {json::array(), controlled_by("kubeflow.org/v2beta1", "MPIJob")}) {
        json object = large_object(*kind.type, fill, kBytes / 100);
        object["metadata"] = {{"name", "x"}, {"namespace", "team-a"}, {"uid", "u"}, {"ownerReferences", owners}};
        const TypedObject once = jobs::kept_of(read_object(*kind.type, object), settings);
        const TypedObject twice = jobs::kept_of(once, settings);
        CAPTURE(kind.type->plural);
        CHECK(jobs::bytes_of(twice) <= jobs::bytes_of(once));
        const jobs::JobKind* job_kind = jobs::find_job_kind(*kind.type);
        if (job_kind == nullptr || kind.type->kind == kPods.kind) continue;
        CHECK(job_kind->readable(twice) == job_kind->readable(once));
      }
    }
  }
}

TEST_CASE("an object in a queue is kept whole, and takes memory within a factor of its size") {
  for (const bool native : {false, true}) {
    const ReconcilerSettings settings = settings_of(native);
    for (const WatchedKind& kind : watched_kinds()) {
      for (const Fill fill : kFills) {
        json object = large_object(*kind.type, fill, kBytes / 10);
        object["metadata"] = {{"name", "x"}, {"namespace", "team-a"}, {"labels", {{kQueueNameLabel, "lq"}}}};
        const size_t written = object.dump().size();
        const TypedObject read = read_object(*kind.type, object);
        CAPTURE(kind.type->plural);
        CHECK(jobs::bytes_of(read) < 16 * written);
        if (fill == Fill::kTexts) CHECK(jobs::bytes_of(read) < 4 * written);
        if (const jobs::JobKind* job_kind = jobs::find_job_kind(*kind.type);
            job_kind != nullptr && (kind.type->kind != kPods.kind || *kind.type == kQueuedPods))
          CHECK(jobs::kept_of(read, settings) == read);
      }
    }
  }
}

TEST_CASE("what is kept depends on the queue, on settings and on what can change") {
  const json job = [] {
    json object = large_object(kJobs, Fill::kTexts, 100'000);
    object["metadata"] = {{"name", "x"}, {"namespace", "team-a"}, {"uid", "u"}};
    return object;
  }();
  const auto is_whole = [](const json& object, const ReconcilerSettings& settings) {
    return jobs::bytes_of(jobs::kept_of(read_object(kJobs, object), settings)) > 100'000;
  };
  ReconcilerSettings settings = settings_of(true);
  CHECK_FALSE(is_whole(job, settings));

  json queued = job;
  queued["metadata"]["labels"][std::string(kQueueNameLabel)] = "lq";
  CHECK(is_whole(queued, settings));
  settings.queues.rules.frameworks.erase("batch/job");
  CHECK_FALSE(is_whole(queued, settings));

  // The labels of the namespace decide, and they can change.
  settings = settings_of(true);
  settings.queues.rules.manage_jobs_without_queue_name = true;
  settings.queues.rules.managed_jobs_namespace_selector = *LabelSelector::parse({{"matchLabels", {{"team", "a"}}}});
  CHECK(is_whole(job, settings));
  // Its name decides.
  settings.queues.rules.managed_jobs_namespace_selector = *LabelSelector::parse(
      {{"matchExpressions",
        json::array({{{"key", "kubernetes.io/metadata.name"}, {"operator", "NotIn"}, {"values", {"team-a"}}}})}});
  CHECK_FALSE(is_whole(job, settings));
}

TEST_CASE("a gang in no queue keeps its barrier, and a JobSet whose Jobs muster makes its texts") {
  json pod_template = large_template(Fill::kTexts, 100'000);
  pod_template["metadata"]["annotations"][std::string(kGroupEpochAnnotation)] = "e";
  pod_template["spec"]["initContainers"] =
      json::array({{{"name", kGroupInitContainer}, {"args", {"--timeout-seconds=60"}}}});
  pod_template["spec"]["volumes"] =
      json::array({{{"name", kGroupVolume}, {"configMap", {{"name", "x.job-group-scheduling"}}}}});
  const json job = {{"metadata", {{"name", "x"}, {"namespace", "team-a"}}}, {"spec", {{"template", pod_template}}}};
  const TypedObject kept = jobs::kept_of(read_object(kJobs, job), settings_of(true));
  REQUIRE(std::get<JobPtr>(kept)->barrier);
  CHECK(std::get<JobPtr>(kept)->barrier->config_map == "x.job-group-scheduling");
  CHECK(std::get<JobPtr>(kept)->barrier->timeout_seconds == 60);

  const json jobset = {
      {"metadata", {{"name", "x"}, {"namespace", "team-a"}}},
      {"spec", {{"replicatedJobs", json::array({{{"name", "w"}, {"replicas", 3}, {"template", job}}})}}}};
  const TypedObject own = jobs::kept_of(read_object(kJobSets, jobset), settings_of(true));
  CHECK(std::get<JobSetPtr>(own)->replicated_jobs[0].template_text.text().size() > 100'000);
  CHECK(jobs::bytes_of(own) < 110'000);
  const TypedObject of_others = jobs::kept_of(read_object(kJobSets, jobset), settings_of(false));
  REQUIRE(std::get<JobSetPtr>(of_others)->replicated_jobs.size() == 1);
  CHECK(std::get<JobSetPtr>(of_others)->replicated_jobs[0].replicas == 3);
  CHECK(std::get<JobSetPtr>(of_others)->replicated_jobs[0].barrier);
  CHECK_FALSE(jobs::jobset.readable(of_others));
  CHECK(jobs::bytes_of(of_others) < 2048);
}

TEST_CASE("a pod in no queue keeps its finalizers, which muster writes again without its own") {
  json pod = large_object(kQueuedPods, Fill::kTexts, 10'000);
  pod["metadata"] = {{"name", "x"},
                     {"namespace", "team-a"},
                     {"labels", {{kManagedLabel, "true"}}},
                     {"finalizers", json::array({kManagedLabel, "example.com/other"})}};
  const TypedObject kept = jobs::kept_of(read_object(kQueuedPods, pod), settings_of(true));
  CHECK(meta_of(kept).finalizers.size() == 2);
  CHECK(meta_of(kept).label(kManagedLabel) == "true");
  CHECK(jobs::bytes_of(kept) < 2048);
  // Of a group, and of a set: they are in its queue.
  for (const char* key : {"kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-suspending-parent"}) {
    json member = pod;
    member["metadata"]["annotations"][key] = "g";
    const TypedObject read = read_object(kQueuedPods, member);
    CHECK(jobs::kept_of(read, settings_of(true)) == read);
  }
}

TEST_CASE("a ConfigMap of a gang keeps its decisions, and no other key") {
  json map = {
      {"metadata",
       {{"name", "x-group-scheduling"},
        {"namespace", "team-a"},
        {"ownerReferences",
         json::array(
             {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "x"}, {"uid", "u"}, {"controller", true}}})}}},
      {"data", {{"started", "a"}, {"expired", "b"}, {"deadlines", "c"}, {"other", "d"}}}};
  const auto keys_of = [](const json& object) {
    std::string keys;
    const TypedObject kept = jobs::kept_of(read_object(kConfigMaps, object), settings_of(true));
    for (const auto& [key, value] : std::get<ConfigMapPtr>(kept)->data) keys += key + " ";
    return keys;
  };
  CHECK(keys_of(map) == "deadlines expired started ");
  map["metadata"].erase("ownerReferences");
  CHECK(keys_of(map).empty());
}

}  // namespace kept_object_test
