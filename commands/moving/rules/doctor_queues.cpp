// Queues that name missing objects, stopped queues, and objects whose deletion does not end.
#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/meta/time.h"
#include "api/workload_conditions.h"
#include "base/ascii.h"
#include "commands/moving/rules/doctor.h"
#include "jobs/queue_fields.h"

namespace muster::commands {
namespace {

using nlohmann::json;
constexpr std::string_view kGroup = "kueue.x-k8s.io";
// A deletion that takes longer waits for a client or a user.
constexpr Duration kLong = std::chrono::minutes(5);

bool is_there(const DoctorContext& context, const char* kind, std::string_view ns, std::string_view name) {
  return context.dump.find(kGroup, kind, ns, name) != nullptr;
}

void look_at_cluster_queue(const DoctorContext& context, const json& queue) {
  const std::string name = object_name(queue), plain(string_at(queue, {"metadata", "name"}));
  for (const json& group : array_at(queue, {"spec", "resourceGroups"})) {
    for (const json& flavor : array_at(group, {"flavors"})) {
      const std::string flavor_name(string_at(flavor, {"name"}));
      if (!is_there(context, "ResourceFlavor", "", flavor_name))
        context.add(Severity::kHarm, "flavor-missing", {name},
                    "it names the ResourceFlavor " + flavor_name + ", which is not there: nothing is admitted",
                    "kubectl muster create flavor " + flavor_name);
    }
  }
  for (const json& check : array_at(queue, {"spec", "admissionChecksStrategy", "admissionChecks"})) {
    const std::string check_name(string_at(check, {"name"}));
    if (!is_there(context, "AdmissionCheck", "", check_name))
      context.add(Severity::kHarm, "check-missing", {name},
                  "it names the AdmissionCheck " + check_name + ", which is not there: nothing is admitted",
                  "create it, or remove it: kubectl edit clusterqueue " + plain);
  }
  const std::string_view stop = string_at(queue, {"spec", "stopPolicy"});
  if (!stop.empty() && stop != "None")
    context.add(Severity::kChange, "queue-stopped", {name}, "it is stopped (" + std::string(stop) + ")",
                "kubectl muster resume clusterqueue " + plain);
}

void look_at_local_queue(const DoctorContext& context, const json& queue) {
  const std::string name = object_name(queue), plain(string_at(queue, {"metadata", "name"}));
  const std::string ns(string_at(queue, {"metadata", "namespace"}));
  const std::string target(string_at(queue, {"spec", "clusterQueue"}));
  if (!is_there(context, "ClusterQueue", "", target))
    context.add(Severity::kHarm, "clusterqueue-missing", {name},
                "it names the ClusterQueue " + target + ", which is not there: nothing is admitted",
                "kubectl muster create clusterqueue " + target + " --nominal-quota ...");
  const std::string_view stop = string_at(queue, {"spec", "stopPolicy"});
  if (!stop.empty() && stop != "None")
    context.add(Severity::kChange, "queue-stopped", {name}, "it is stopped (" + std::string(stop) + ")",
                "kubectl muster resume localqueue " + plain + " -n " + ns);
}

void look_at_workload(const DoctorContext& context, const json& workload) {
  const std::string ns(string_at(workload, {"metadata", "namespace"}));
  const std::string queue(string_at(workload, {"spec", "queueName"}));
  if (queue.empty() || is_there(context, "LocalQueue", ns, queue)) return;
  if (jobs::condition_is_true(workload, kFinishedCondition)) return;
  context.add(Severity::kHarm, "localqueue-missing", {object_name(workload)},
              "it is for LocalQueue " + ns + "/" + queue + ", which is not there: it waits until there is one",
              "kubectl muster create localqueue " + queue + " -n " + ns + " -c CLUSTERQUEUE");
}

// When muster removes its own finalizer, and what to do about others.
std::string end_of_deletion(const json& object, const std::vector<std::string>& finalizers) {
  const std::string_view kind = string_at(object, {"kind"});
  const bool held = std::find(finalizers.begin(), finalizers.end(), kResourceInUseFinalizer) != finalizers.end();
  if (held && kind == "Workload")
    return "its job may still run: kubectl get pods; muster removes the finalizer when the pods have ended";
  if (held && kind == "ClusterQueue") return "it is deleted when no Workload uses it: kubectl get workloads -A";
  if (held && (kind == "ResourceFlavor" || kind == "AdmissionCheck"))
    return "it is deleted when no ClusterQueue names it: kubectl get clusterqueues -o yaml";
  const std::string ns(string_at(object, {"metadata", "namespace"}));
  return "muster does not remove it: if the controller that added it is gone, remove it: kubectl edit " +
         in_small_letters(kind) + " " + std::string(string_at(object, {"metadata", "name"})) +
         (ns.empty() ? "" : " -n " + ns);
}

void look_at_deletion(const DoctorContext& context, const json& object) {
  const auto since = parse_time(object.value("/metadata/deletionTimestamp"_json_pointer, json()));
  if (!since || since->is_zero()) return;
  const Duration waits = time_between(to_time_point(*since), context.facts.server_now.value_or(context.facts.now));
  if (waits < kLong) return;
  const std::vector<std::string> finalizers = strings_at(object, {"metadata", "finalizers"});
  context.add(Severity::kChange, "deletion-stuck", {object_name(object)},
              "it was deleted more than 5 minutes ago and has finalizers (" + join(finalizers, ", ") + ")",
              end_of_deletion(object, finalizers));
}

}  // namespace

void doctor_queues(const DoctorContext& context) {
  for (const json* queue : context.dump.of_kind(kGroup, "ClusterQueue")) look_at_cluster_queue(context, *queue);
  for (const json* queue : context.dump.of_kind(kGroup, "LocalQueue")) look_at_local_queue(context, *queue);
  for (const json* workload : context.dump.of_kind(kGroup, "Workload")) look_at_workload(context, *workload);
  for (const auto& entry : context.dump.objects()) {
    if (entry.first.starts_with(kGroup)) look_at_deletion(context, entry.second);
  }
}

}  // namespace muster::commands
