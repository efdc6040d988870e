#include "test/world/job_controller.h"

#include <algorithm>
#include <cassert>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/workload.h"
#include "jobs/job_controller_users.h"
#include "jobs/job_kind.h"
#include "test/world/index_set.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kTracking = "batch.kubernetes.io/job-tracking";
const Request kAsController{.user = std::string(jobs::kJobControllerUsers.front())};

bool runs_here(const Job& job) {
  return job.managed_by.empty() || job.managed_by == "kubernetes.io/job-controller";
}

// The Job controller has not counted the pod, or has not let it go.
bool is_tracked(const json& pod) {
  const json& finalizers = array_at(pod, {"metadata", "finalizers"});
  return std::find(finalizers.begin(), finalizers.end(), kTracking) != finalizers.end();
}

// 10 s, 20 s, ... 10 min.
Duration replacement_delay(int failures) {
  if (failures == 0) return Duration(0);
  return std::min<Duration>(seconds(10) * (1 << std::min(failures - 1, 6)), seconds(600));
}

int64_t restarts_of(const json& pod) {
  int64_t restarts = 0;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json& status : array_at(pod, {"status", list})) restarts += int_at(status, {"restartCount"}).value_or(0);
  }
  return restarts;
}

}  // namespace

JobController::JobController(ApiServer& server, Timeline& timeline, uint64_t seed)
    : server_(server), timeline_(timeline), chance_(seed, "job controller") {
  server_.on_change([this](const Change& change) { see(change); });
}

void JobController::see(const Change& change) {
  const json& object = *change.after;
  if (*change.type == kJobs) {
    if (!change.removed) return look_soon(key_of(kJobs, object));
    for (const ObjectKey& dependent : server_.dependents_of(uid_of(object))) {
      if (*dependent.type == kPods) release_orphan_soon(dependent);
    }
    return;
  }
  if (*change.type != kPods) return;
  const std::optional<OwnerReference> owner = controller_of(object);
  if (!owner && !change.removed && is_tracked(object)) return release_orphan_soon(key_of(kPods, object));
  if (!owner || jobs::job_type_of(*owner) != &kJobs) return;
  if (!server_.exists(owner->uid)) return change.removed ? void() : release_orphan_soon(key_of(kPods, object));
  look_soon({&kJobs, std::string(string_at(object, {"metadata", "namespace"})), owner->name});
}

// If its Job was deleted, no controller would count the pod.
void JobController::release_orphan_soon(const ObjectKey& pod) {
  timeline_.after(chance_.between(milliseconds(5), milliseconds(150)), [this, pod] {
    const ObjectPtr found = server_.get(pod);
    if (found == nullptr || !is_tracked(*found)) return;
    const std::optional<OwnerReference> owner = controller_of(*found);
    if (!owner || !server_.exists(owner->uid))
      server_.patch(pod, {{"metadata", {{"finalizers", nullptr}}}}, kAsController);
  });
}

void JobController::look_soon(const ObjectKey& job) {
  if (!queued_.insert(job).second) return;
  timeline_.after(chance_.between(milliseconds(5), milliseconds(150)), [this, job] {
    queued_.erase(job);
    look_at(job);
  });
}

std::vector<JobController::Pod> JobController::pods_of(const std::string& uid) const {
  std::vector<Pod> pods;
  for (const ObjectKey& key : server_.dependents_of(uid)) {
    if (*key.type != kPods) continue;
    Pod pod{.key = key, .object = server_.get(key)};
    const json& object = *pod.object;
    pod.counted = !is_tracked(object);
    const std::string_view phase = string_at(object, {"status", "phase"});
    pod.succeeded = phase == "Succeeded";
    pod.failed = phase == "Failed";
    pod.deleting = !string_at(object, {"metadata", "deletionTimestamp"}).empty();
    const auto index = annotation(object, kCompletionIndexAnnotation);
    if (index) pod.index = *parse_indexes(*index).begin();
    pods.push_back(std::move(pod));
  }
  return pods;
}

void JobController::look_at(const ObjectKey& key) {
  Sync sync;
  sync.key = key;
  sync.object = server_.get(key);
  if (sync.object == nullptr) return;
  sync.uid = uid_of(*sync.object);
  sync.job = read_job(*sync.object);
  if (!runs_here(*sync.job)) return;
  sync.status = sync.job->status;
  sync.indexed = string_at(*sync.object, {"spec", "completionMode"}) == "Indexed";
  sync.completed = parse_indexes(string_at(*sync.object, {"status", "completedIndexes"}));
  sync.pods = pods_of(sync.uid);
  if (sync.job->finished()) return release_pods(sync);
  // Nothing of its spec is obeyed any more.
  if (sync.job->meta.deleting) {
    write_status(sync);
    return release_pods(sync);
  }

  count_ended(sync);
  check_limits(sync);
  if (!condition_is_true(sync.status.conditions, "FailureTarget") &&
      !condition_is_true(sync.status.conditions, "SuccessCriteriaMet")) {
    suspend_or_resume(sync);
    manage_pods(sync);
  } else {
    delete_active(sync, 0);
  }
  finish_if_over(sync);
  write_status(sync);
  release_pods(sync);
}

// Pods that have ended are counted once: the tracking finalizer marks the pods that are not counted yet. A pod
// in deletion counts as failed, but not while the Job is suspended.
void JobController::count_ended(Sync& sync) {
  int succeeded = 0, failed = 0;
  for (const Pod& pod : sync.pods) {
    if (pod.counted) continue;
    if (pod.succeeded) {
      sync.indexed ? void(sync.completed.insert(pod.index)) : void(++succeeded);
    } else if ((pod.failed || pod.deleting) && !sync.job->suspended) {
      ++failed;
    }
  }
  const int before = sync.status.succeeded;
  sync.status.succeeded = sync.indexed ? static_cast<int>(sync.completed.size()) : sync.status.succeeded + succeeded;
  sync.status.failed += failed;
  Backoff& backoff = backoff_[sync.uid];
  if (sync.status.succeeded > before) backoff.failures = 0;
  if (failed > 0) backoff = {backoff.failures + 1, timeline_.time()};
}

void JobController::set(Sync& sync, const char* type, const char* reason, const std::string& message,
                        const char* status) {
  set_condition(sync.status.conditions, {.type = type,
                                         .status = status,
                                         .reason = reason,
                                         .message = message,
                                         .last_transition = to_timestamp(timeline_.now().wall)});
}

void JobController::check_limits(Sync& sync) {
  if (condition_is_true(sync.status.conditions, "FailureTarget") ||
      condition_is_true(sync.status.conditions, "SuccessCriteriaMet"))
    return;
  const int64_t limit = int_at(*sync.object, {"spec", "backoffLimit"}).value_or(6);
  int64_t restarts = 0;
  bool any_active = false;
  for (const Pod& pod : sync.pods) {
    any_active |= pod.active();
    if (pod.active()) restarts += restarts_of(*pod.object);
  }
  const bool on_failure = string_at(*sync.object, {"spec", "template", "spec", "restartPolicy"}) == "OnFailure";
  const bool restarted_too_often = on_failure && (limit == 0 ? restarts > 0 : restarts >= limit);
  if (sync.status.failed > limit || restarted_too_often)
    return set(sync, "FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  const std::optional<int64_t> deadline = int_at(*sync.object, {"spec", "activeDeadlineSeconds"});
  if (deadline && !sync.job->suspended && !sync.status.start_time.is_zero()) {
    const TimePoint due = to_time_point(sync.status.start_time) + seconds(*deadline);
    if (timeline_.now().wall >= due)
      return set(sync, "FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline");
    timeline_.after(due - timeline_.now().wall, [this, key = sync.key] { look_soon(key); });
  }
  const auto& completions = sync.job->completions;
  const bool complete = completions ? sync.status.succeeded >= *completions : sync.status.succeeded > 0 && !any_active;
  if (complete) set(sync, "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods");
}

void JobController::suspend_or_resume(Sync& sync) {
  const bool was_suspended = condition_is_true(sync.status.conditions, "Suspended");
  if (sync.job->suspended) {
    if (!was_suspended) set(sync, "Suspended", "JobSuspended", "Job suspended");
    return;
  }
  const Timestamp now = to_timestamp(TimePoint(std::chrono::floor<seconds>(timeline_.now().wall)));
  if (was_suspended) {
    set(sync, "Suspended", "JobResumed", "Job resumed", "False");
    sync.status.start_time = now;
  } else if (sync.status.start_time.is_zero()) {
    sync.status.start_time = now;
  }
}

void JobController::manage_pods(Sync& sync) {
  if (sync.job->suspended) return delete_active(sync, 0);
  const bool wait_for_terminating = string_at(*sync.object, {"spec", "podReplacementPolicy"}) == "Failed";
  int64_t active = 0, terminating = 0;
  for (const Pod& pod : sync.pods) {
    active += pod.active();
    terminating += pod.deleting && !pod.ended();
  }
  int64_t wanted = sync.job->parallelism;
  if (sync.job->completions)
    wanted = std::min<int64_t>(wanted, *sync.job->completions - sync.status.succeeded);
  else if (sync.status.succeeded > 0)
    wanted = active;  // a work queue that has begun to drain
  wanted = std::max<int64_t>(wanted, 0);
  if (active > wanted) return delete_active(sync, static_cast<size_t>(wanted));
  const int64_t missing = wanted - active - (wait_for_terminating ? terminating : 0);
  if (missing > 0) create_pods(sync, missing);
}

// Keeps the lowest indexes; of other pods it keeps the running ones.
void JobController::delete_active(const Sync& sync, size_t keep) {
  std::vector<const Pod*> active;
  for (const Pod& pod : sync.pods) {
    if (pod.active()) active.push_back(&pod);
  }
  std::stable_sort(active.begin(), active.end(), [](const Pod* a, const Pod* b) {
    if (a->index != b->index) return a->index < b->index;
    return has_condition(*a->object, "Ready") && !has_condition(*b->object, "Ready");
  });
  for (size_t i = keep; i < active.size(); ++i) {
    server_.remove(active[i]->key, {.uid = uid_of(*active[i]->object)}, kAsController);
  }
}

void JobController::create_pods(Sync& sync, int64_t missing) {
  const Backoff& backoff = backoff_[sync.uid];
  const MonotonicTime due = backoff.last + replacement_delay(backoff.failures);
  if (backoff.failures > 0 && timeline_.time() < due) {
    timeline_.at(due, [this, key = sync.key] { look_soon(key); });
    return;
  }
  std::set<int64_t> taken = sync.completed;
  for (const Pod& pod : sync.pods) {
    if (pod.active()) taken.insert(pod.index);
  }
  for (int64_t index = 0; missing > 0; ++index) {
    if (sync.indexed && taken.contains(index)) continue;
    if (sync.indexed && index >= *sync.job->completions) break;
    create_pod(sync, sync.indexed ? index : -1);
    --missing;
  }
}

void JobController::create_pod(const Sync& sync, int64_t index) {
  const json& job = *sync.object;
  json pod = job["spec"]["template"];
  pod["apiVersion"] = kPods.api_version;
  pod["kind"] = kPods.kind;
  json& metadata = pod["metadata"];
  std::string prefix = sync.key.name + "-";
  if (index >= 0) {
    const std::string text = std::to_string(index);
    prefix += text + "-";
    metadata["labels"][std::string(kCompletionIndexAnnotation)] = text;
    metadata["annotations"][std::string(kCompletionIndexAnnotation)] = text;
    if (string_at(pod, {"spec", "hostname"}).empty()) pod["spec"]["hostname"] = sync.key.name + "-" + text;
  }
  metadata["generateName"] = prefix;
  metadata["namespace"] = sync.key.ns;
  metadata["finalizers"] = json::array({kTracking});
  metadata["ownerReferences"] = json::array({{{"apiVersion", kJobs.api_version},
                                              {"kind", kJobs.kind},
                                              {"name", sync.key.name},
                                              {"uid", sync.uid},
                                              {"controller", true},
                                              {"blockOwnerDeletion", true}}});
  server_.create(std::move(pod), kAsController);
}

// The last condition is set when no pod runs or ends any more.
void JobController::finish_if_over(Sync& sync) {
  const Conditions& conditions = sync.status.conditions;
  const Condition* failure = find_condition(conditions, "FailureTarget");
  const Condition* success = find_condition(conditions, "SuccessCriteriaMet");
  const bool fails = failure != nullptr && failure->is_true(), succeeds = success != nullptr && success->is_true();
  if (!fails && !succeeds) return;
  for (const Pod& pod : pods_of(sync.uid)) {
    if (!pod.ended()) return;
  }
  const Timestamp now = to_timestamp(timeline_.now().wall);
  if (sync.status.start_time.is_zero()) sync.status.start_time = now;
  const Condition why = fails ? *failure : *success;
  set(sync, fails ? "Failed" : "Complete", why.reason.text().c_str(), why.message);
  if (!fails) sync.status.completion_time = now;
}

void JobController::write_status(Sync& sync) {
  JobStatus& status = sync.status;
  status.active = status.ready = status.terminating = 0;
  for (const Pod& pod : pods_of(sync.uid)) {
    status.active += pod.active();
    status.ready += pod.active() && has_condition(*pod.object, "Ready");
    status.terminating += pod.deleting && !pod.ended();
  }
  json written = {{"active", status.active},
                  {"ready", status.ready},
                  {"succeeded", status.succeeded},
                  {"failed", status.failed},
                  {"terminating", status.terminating},
                  {"conditions", to_json(status.conditions)},
                  {"startTime", time_to_json(status.start_time)},
                  {"completionTime", time_to_json(status.completion_time)}};
  if (sync.indexed) written["completedIndexes"] = format_indexes(sync.completed);
  const Answer answer = server_.patch_status(
      sync.key, {{"metadata", {{"uid", sync.uid}}}, {"status", std::move(written)}}, kAsController);
  assert(answer.done());
}

// Counted pods can be deleted.
void JobController::release_pods(const Sync& sync) {
  const bool all = sync.job->meta.deleting || sync.job->finished();
  for (const Pod& pod : sync.pods) {
    if (pod.counted || !(all || pod.ended() || pod.deleting)) continue;
    server_.patch(pod.key, {{"metadata", {{"uid", uid_of(*pod.object)}, {"finalizers", nullptr}}}}, kAsController);
  }
}

}  // namespace muster::world
