// Jobs of every kind that muster queues, as the Workloads that muster makes of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "forecast/scenario.h"
#include "jobs/job_kind.h"
#include "kinds/kind_hook.h"
#include "reconcilers/reconciler.h"

namespace muster::forecast {

// What is known beside the job: classes of priority, and objects that jobs consult.
struct ShapeContext : reconcilers::ReconcileContext {
  ConsultedLookup find;
};

// By its kind's own code (jobs/job_kind.h) and that of reconcilers/job. `object` has a uid. Errors are sentences.
Result<JobShape> shape_of_job(const jobs::JobKind& kind, const nlohmann::json& object, const ShapeContext& context);
// Of a pod by itself, or of the pods of one group.
Result<JobShape> shape_of_pods(const std::vector<nlohmann::json>& pods, const ShapeContext& context);
// Of a StatefulSet or LeaderWorkerSet that is in a queue itself: one of all pods, or one of each group. None: it has no
// replicas.
Result<std::vector<JobShape>> shapes_of_set(const jobs::JobKind& kind, const nlohmann::json& object,
                                            const ShapeContext& context);
// The pods that the controller of a Deployment, StatefulSet or LeaderWorkerSet makes.
std::vector<nlohmann::json> pods_of_serving(const jobs::JobKind& kind, const nlohmann::json& object);
// A batch/v1 Job, from a row of a table.
struct PlainJob {
  std::string ns, queue, name, priority_class;
  int32_t count = 1;
  std::map<std::string, std::string> requests{};  // of each pod
};
nlohmann::json to_manifest(const PlainJob& job);

}  // namespace muster::forecast
