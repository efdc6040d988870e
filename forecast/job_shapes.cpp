#include "forecast/job_shapes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/pod/pod_group.h"
#include "jobs/serving/serving_set.h"
#include "kinds/serving_types.h"
#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/pod/pod_context.h"
#include "reconcilers/pod/pod_workload_make.h"
#include "reconcilers/serving/serving_context.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

JobShape shape_with(json workload, const ObjectMeta& job, std::string_view kind) {
  workload["metadata"]["uid"] = "workload-of-" + job.uid;
  workload["metadata"]["generation"] = 1;
  if (!job.created.is_zero()) workload["metadata"]["creationTimestamp"] = time_to_json(job.created);
  return {.workload = read_workload(workload), .kind = std::string(kind), .job = job.name};
}

// For one serving object; a number with too many zeros must not fill the memory.
constexpr int64_t kMostPods = 10'000;

std::string sentences(const reconcilers::Plan& plan, std::string otherwise) {
  std::string text;
  for (const ObjectEvent& event : plan.events) text += (text.empty() ? "" : "; ") + event.note;
  return text.empty() ? otherwise : text;
}

}  // namespace

Result<JobShape> shape_of_job(const jobs::JobKind& kind, const json& object, const ShapeContext& context) {
  const TypedObject typed = read_object(kind.type, object);
  const jobs::QueuedJob job(kind, typed, context.find);
  if (!job.readable()) {
    if (const std::string why = job.why_unreadable(); !why.empty()) return fail(why);
    if (!job.awaited().empty()) return fail("what it refers to is not in the input: " + std::string(job.awaited()));
    return fail("its pod templates cannot be read");
  }
  if (job.left_alone()) return fail("is part of another job");
  const reconcilers::JobContext job_context{context, job};
  reconcilers::Plan plan;
  const auto priority = reconcilers::priority_or_event(job_context, plan);
  if (!priority) return fail(sentences(plan, "the PriorityClass of its pods is not in the input"));
  return shape_with(reconcilers::make_workload(job_context, *priority), job.meta(), kind.type.kind);
}

Result<JobShape> shape_of_pods(const std::vector<json>& pods, const ShapeContext& context) {
  std::vector<QueuedPodPtr> read;
  for (const json& pod : pods) read.push_back(read_queued_pod(pod));
  std::sort(read.begin(), read.end(),
            [](const QueuedPodPtr& a, const QueuedPodPtr& b) { return a->meta.name < b->meta.name; });
  const std::string group(read.front()->group());
  PodGroup made = jobs::make_pod_group(std::move(read), group, context.queues().rules, context.now.wall);
  return reconcilers::with_context(
      std::move(made), context, [&](const reconcilers::PodContext& pod_scene) -> Result<JobShape> {
        reconcilers::Plan plan;
        reconcilers::make_workload(pod_scene, plan);
        for (reconcilers::Write& write : plan.writes) {
          if (write.verb != reconcilers::Verb::kCreate) continue;
          ObjectMeta meta = pod_scene.group.meta;
          if (!group.empty()) meta.name = group;
          return shape_with(std::move(write.body), meta, group.empty() ? "Pod" : "pod group");
        }
        return fail(sentences(plan, "no Workload is made of these pods"));
      });
}

Result<std::vector<JobShape>> shapes_of_set(const jobs::JobKind& kind, const json& object,
                                            const ShapeContext& context) {
  const TypedObject typed = read_object(kind.type, object);
  const DescribedJob& set = *std::get<DescribedJobPtr>(typed);
  const jobs::ServingSet wanted = jobs::serving_set_of(set);
  const jobs::QueuedJob job(kind, typed, context.find);
  if (wanted.groups > 0 && !job.readable()) return fail("its pod templates cannot be read");
  const reconcilers::JobContext job_context{context, job};
  const reconcilers::ServingContext set_context{set, wanted, job_context};
  std::vector<JobShape> shapes;
  if (wanted.groups == 0) return shapes;
  reconcilers::Plan plan;
  reconcilers::keep_workloads(set_context, plan);
  // Its groups are equal; a plan makes only the first ones.
  for (reconcilers::Write& write : plan.writes) {
    if (write.verb != reconcilers::Verb::kCreate) continue;
    const JobShape first = shape_with(std::move(write.body), job.meta(), kind.type.kind);
    for (int32_t group = 0; group < std::min<int32_t>(wanted.groups, kMostPods); ++group) {
      JobShape shape = first;
      Workload workload = *first.workload;
      workload.meta.name = set_context.workload_name(group);
      if (!jobs::is_stateful_set(set)) shape.job += "-" + std::to_string(group);
      workload.meta.uid += "-" + std::to_string(group);
      shape.workload = std::make_shared<const Workload>(std::move(workload));
      shapes.push_back(std::move(shape));
    }
    return shapes;
  }
  return fail(sentences(plan, "no Workload is made of it"));
}

std::vector<json> pods_of_serving(const jobs::JobKind& kind, const json& object) {
  const std::string name(string_at(object, {"metadata", "name"}));
  const int64_t replicas = kind.type == kLeaderWorkerSets
                               ? std::clamp<int64_t>(int_at(object, {"spec", "replicas"}).value_or(1), 0, kMostPods)
                               : 1;
  std::vector<json> pods;
  for (int64_t replica = 0; replica < replicas; ++replica) {
    for (const jobs::ConstPodTemplateRef& ref : kind.read_pod_templates(object)) {
      for (int64_t i = 0; i < std::min<int64_t>(ref.count, kMostPods); ++i) {
        json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
        pod["metadata"] = ref.template_json->value("metadata", json::object());
        pod["spec"] = ref.template_json->value("spec", json::object());
        const std::string its = name + "-" + std::to_string(pods.size());
        pod["metadata"]["name"] = its;
        pod["metadata"]["namespace"] = string_at(object, {"metadata", "namespace"});
        pod["metadata"]["uid"] = std::string(string_at(object, {"metadata", "uid"})) + "-" + its;
        pods.push_back(std::move(pod));
      }
    }
  }
  return pods;
}

json to_manifest(const PlainJob& job) {
  json labels = {{kQueueNameLabel, job.queue}};
  if (!job.priority_class.empty()) labels[std::string(kPriorityClassLabel)] = job.priority_class;
  const json container = {{"name", "main"}, {"image", "none"}, {"resources", {{"requests", job.requests}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", job.name}, {"namespace", job.ns}, {"labels", std::move(labels)}}},
          {"spec",
           {{"suspend", true},
            {"parallelism", job.count},
            {"completions", job.count},
            {"template", {{"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}}}}}};
}

}  // namespace muster::forecast
