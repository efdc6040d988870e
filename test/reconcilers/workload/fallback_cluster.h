// A Workload on a ClusterQueue with flavor fallback (KEP-2560), reconciled step by step.
#pragma once

#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/flavor_fallback.h"
#include "reconcilers/workload/workload_editor.h"
#include "state/scheduler_driver.h"
#include "test/reconcilers/queues/queue_cluster.h"

namespace muster::test {

using std::chrono::minutes;
using std::chrono::seconds;

inline json flavor(const char* name, const char* resource = "cpu") {
  return quota_of(name, {{resource, "10"}});
}

class FallbackCluster : public QueueCluster {
 public:
  // `rules`: as in the manifest.
  explicit FallbackCluster(const json& rules, const char* policy = "RetryAllFlavors") {
    for (const char* name : {"reservation", "spot", "on-demand", "fast", "slow"}) put(kResourceFlavors, name, {});
    put(kClusterQueues, "cq", cluster_queue_of({flavor("reservation"), flavor("spot"), flavor("on-demand")}));
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
    set_rules(rules, policy);
  }

  void set_rules(const json& rules, const char* policy = "RetryAllFlavors") {
    json strategy = rules.is_null() ? json() : json{{"rules", rules}, {"failurePolicy", policy}};
    patch(kClusterQueues, "cq", {{"spec", {{"flavorFungibility", {{"fallbackStrategy", strategy}}}}}});
  }

  // The spec of two pods of one CPU and `more` each.
  static json asks(const json& more = json::object()) {
    json requests = {{"cpu", "1"}};
    requests.merge_patch(more);
    return {{"podSets", workload_of(2, pod_template_of(requests))["spec"]["podSets"]}};
  }

  // Has quota on these flavors, by resource, and its pods are not ready yet.
  void admit(const json& flavors) {
    if (get(kWorkloads, "wl").is_null())
      put(kWorkloads, "wl", workload(asks(flavors.contains("gpu") ? json{{"gpu", "1"}} : json::object())));
    PodSetAssignment assignment{.name = "main", .flavors = {}, .resource_usage = {}, .count = 2};
    for (const auto& item : flavors.items()) {
      assignment.flavors[item.key()] = item.value();
      assignment.resource_usage[item.key()] = Quantity::of(2);
    }
    admit_pod_sets({assignment});
  }
  void admit_pod_sets(const std::vector<PodSetAssignment>& pod_sets) {
    json object = get(kWorkloads, "wl");
    WorkloadStatus before = read_workload(object)->status, status = before;
    status.admission = Admission{.cluster_queue = "cq", .pod_sets = pod_sets};
    const ClusterQueue* queue = state.find<ClusterQueue>("cq");
    if (queue->fallback) reconcilers::start_flavor_clocks(status, *queue, whole_seconds(now().wall));
    const auto set = [&](const char* type, bool is_true, const char* reason) {
      set_condition(status.conditions, {.type = type,
                                        .status = is_true ? "True" : "False",
                                        .reason = reason,
                                        .message = "m",
                                        .last_transition = whole_seconds(now().wall)});
    };
    set("QuotaReserved", true, "QuotaReserved");
    set("Admitted", true, "Admitted");
    set("Evicted", false, "QuotaReserved");
    if (queue->fallback) set("PodsReady", false, "WaitForStart");
    object["status"].merge_patch(status_patch(before, status));
    put(kWorkloads, "wl", object);
  }
  // What the job's reconciler does once the job has stopped, requeued as the code says.
  void release() {
    json object = get(kWorkloads, "wl");
    const WorkloadPtr workload = read_workload(object);
    const Condition& evicted = *find_condition(workload->status.conditions, "Evicted");
    reconcilers::WorkloadEditor editor(*workload, context());
    editor.release_evicted(evicted);
    object["status"].merge_patch(status_patch(workload->status, editor.status));
    put(kWorkloads, "wl", object);
  }
  void set_condition_of(const char* type, const char* status, const char* reason) {
    edit(kWorkloads, "wl", [&](json& object) {
      json& conditions = object["status"]["conditions"];
      std::erase_if(conditions.get_ref<json::array_t&>(), [&](const json& each) { return each["type"] == type; });
      conditions.push_back(condition(type, status, reason, seconds(0)));
    });
  }

  Texts done() {
    Texts all;
    for (int rounds = 0; rounds < 10; ++rounds) {
      decisions.follow(now());
      const Texts more = step();
      if (more.empty()) return all;
      all.insert(all.end(), more.begin(), more.end());
    }
    FAIL_CHECK("the reconcilers do not come to rest");
    return all;
  }
  std::optional<Duration> wakes_in() {
    decisions.follow(now());
    const reconcilers::Plan plan = reconcile(workload_key());
    return plan.again_at ? std::optional(*plan.again_at - now().wall) : std::nullopt;
  }

  const Workload& known() const { return *state.find<Workload>(workload_key().ns, workload_key().name); }
  FlavorHistory history() const { return read_flavor_history(status(kWorkloads, "wl")); }
  // "spot:600!TimeoutForPodsReadyExceeded on-demand:0".
  std::string tried() const {
    std::string text;
    for (const FlavorAttempt& attempt : history().attempts)
      text += (text.empty() ? "" : " ") + attempt.flavor + ":" + std::to_string(attempt.used_seconds) +
              (attempt.failure ? "!" + attempt.failure->reason : "");
    return text;
  }
  std::string evicted() const { return workload_condition("Evicted"); }
  int fallbacks() const {
    return static_cast<int>(std::count_if(measurements.begin(), measurements.end(), [](const Measurement& measured) {
      return measured.what == Measured::kFlavorFallback;
    }));
  }
};

inline json timeouts(int spot, int on_demand = 0) {
  json rules = {{{"name", "reservation"}, {"timeoutMinutes", 10}}, {{"name", "spot"}, {"timeoutMinutes", spot}}};
  if (on_demand > 0) rules.push_back({{"name", "on-demand"}, {"timeoutMinutes", on_demand}});
  return rules;
}

}  // namespace muster::test
