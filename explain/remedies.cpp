#include "explain/remedies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/shell_word.h"

namespace muster::explain {
namespace {

constexpr std::string_view kYou = kByYou, kAdmin = kByAdministrator, kWait{};

constexpr std::string_view kEditJob = "kubectl -n $ns edit $type $name";
constexpr std::string_view kListQueues = "kubectl -n $ns get localqueues";
constexpr std::string_view kEditQueue = "kubectl edit clusterqueue $cq";
constexpr std::string_view kPatchJob = "kubectl -n $ns patch $type $name --type json -p $patch";
constexpr std::string_view kPatchNamespace = "kubectl patch namespace $ns --type merge -p $patch";
constexpr std::string_view kSetQueue = "kubectl -n $ns label $type $name kueue.x-k8s.io/queue-name=$meant --overwrite";

constexpr Remedy kRemedies[] = {
    {Cause::kNotFound, kYou,
     "List what exists. Perhaps it is not a $kind, or has another namespace "
     "(-n)",
     "kubectl -n $ns get jobs,jobsets,workloads"},
    {Cause::kNamespaceNotFound, kYou, "Correct the namespace (-n). List the namespaces", "kubectl get namespaces"},
    {Cause::kIntegrationOff, kAdmin, "Add $framework to integrations.frameworks of muster's configuration"},
    {Cause::kNotInQueue, kYou, "Queue it in LocalQueue $meant", kSetQueue, &kLocalQueues},
    {Cause::kNotInQueue, kYou, "Choose a LocalQueue of the namespace for the label kueue.x-k8s.io/queue-name",
     kListQueues},
    {Cause::kStartOutside, kYou, "Start it outside of the queues",
     "kubectl -n $ns patch $type $name --type merge -p {\"spec\":{\"suspend\":false}}"},
    {Cause::kNamespaceNotSelected, kAdmin,
     "Label namespace $ns as managedJobsNamespaceSelector of muster's configuration asks, or change the selector",
     kPatchNamespace},
    {Cause::kPartOfQueued, kYou, "Ask about the whole", "kubectl muster explain $whole -n $ns"},
    {Cause::kPriorityClassMissing, kYou, "Did you mean WorkloadPriorityClass $meant? Set it in the job's label",
     "kubectl -n $ns label $type $name kueue.x-k8s.io/priority-class=$meant --overwrite", &kWorkloadPriorityClasses},
    {Cause::kPriorityClassMissing, kYou,
     "Name an existing class in the job's label kueue.x-k8s.io/priority-class. List the classes",
     "kubectl get workloadpriorityclasses"},
    {Cause::kPriorityClassMissing, kAdmin, "Create WorkloadPriorityClass $class"},
    {Cause::kPodPriorityClassMissing, kYou,
     "Create the job again with an existing class in priorityClassName of its pod template. List the classes",
     "kubectl get priorityclasses"},
    {Cause::kPrebuiltMissing, kAdmin, "Create Workload $workload"},
    {Cause::kPrebuiltMissing, kYou, "Create the job again without $field: then muster creates a Workload"},
    {Cause::kPrebuiltTaken, kYou, "Create the job again without $field: then muster creates a Workload"},
    {Cause::kPrebuiltTaken, kAdmin, "Create a Workload for this job, and name it in $field of a new job"},
    {Cause::kPrebuiltOutOfSync, kAdmin, "Delete that Workload, and create one whose pod sets are those of the job",
     "kubectl -n $ns delete workload $workload"},
    {Cause::kInvalidPodSets, kYou, "Correct its pod templates. muster tries again when the job changes", kEditJob},
    {Cause::kOwnerNotQueued, kYou, "Give $whole a queue, or queue this job in LocalQueue $meant", kSetQueue,
     &kLocalQueues},
    {Cause::kOwnerNotQueued, kYou, "Give $whole a queue, or set a queue on this job. List the LocalQueues",
     kListQueues},
    {Cause::kWorkloadNameConflict, kAdmin, "Delete that Workload", "kubectl -n $ns delete workload $workload"},
    {Cause::kWorkloadNotCreated, kWait, "muster creates its Workload at once."},
    {Cause::kWorkloadNotCreated, kAdmin, "If this continues, find out why the leader of muster does not work",
     "kubectl muster doctor"},
    {Cause::kWorkloadInNoQueue, kYou, "Queue its job in LocalQueue $meant", kSetQueue, &kLocalQueues},
    {Cause::kWorkloadInNoQueue, kYou, "Give its job the label kueue.x-k8s.io/queue-name. List the LocalQueues",
     kListQueues},
    {Cause::kLocalQueueMissing, kYou, "Did you mean LocalQueue $meant? Set it in the job's label", kSetQueue,
     &kLocalQueues},
    {Cause::kLocalQueueMissing, kYou,
     "Name an existing LocalQueue in the job's label kueue.x-k8s.io/queue-name. List the LocalQueues", kListQueues},
    {Cause::kLocalQueueMissing, kAdmin, "Create LocalQueue $queue",
     "kubectl muster create localqueue $queue -c CLUSTERQUEUE -n $ns"},
    {Cause::kLocalQueueStopped, kAdmin, "Resume LocalQueue $queue: set its spec.stopPolicy to None",
     "kubectl -n $ns patch localqueue $queue --type merge -p {\"spec\":{\"stopPolicy\":\"None\"}}"},
    {Cause::kClusterQueueMissing, kYou, "Use a LocalQueue of another ClusterQueue", kListQueues},
    {Cause::kClusterQueueMissing, kAdmin, "Create ClusterQueue $cq"},
    {Cause::kClusterQueueStopped, kAdmin, "Resume ClusterQueue $cq: set its spec.stopPolicy to None",
     "kubectl patch clusterqueue $cq --type merge -p {\"spec\":{\"stopPolicy\":\"None\"}}"},
    {Cause::kFlavorMissing, kAdmin, "Did you mean ResourceFlavor $meant instead of $flavor? Correct the ClusterQueue",
     kEditQueue, &kResourceFlavors},
    {Cause::kFlavorMissing, kAdmin, "Create ResourceFlavor $flavor, or remove it from the spec of the ClusterQueue",
     kEditQueue},
    {Cause::kClusterQueueInactive, kAdmin,
     "Create the missing objects, or remove them from the spec of the ClusterQueue", kEditQueue},
    {Cause::kNamespaceNotAdmitted, kAdmin,
     "Label namespace $ns as spec.namespaceSelector of ClusterQueue $cq asks, or change the selector", kPatchNamespace},
    {Cause::kAdmissionGated, kYou, "Remove the gates when what they wait for is done",
     "kubectl -n $ns annotate $type $name kueue.x-k8s.io/admission-gated-by-"},
    {Cause::kTopology, kYou,
     "Create the job again without the annotations kueue.x-k8s.io/podset-* of its pods. Affinity and "
     "topologySpreadConstraints place them"},
    {Cause::kTaint, kYou,
     "Let the pods tolerate taint $taint of flavor $flavor, if they can run there. Add the toleration $toleration",
     kPatchJob},
    {Cause::kTaint, kAdmin, "Add a flavor that suits the pods", kEditQueue},
    {Cause::kAffinity, kYou,
     "Change node selector or affinity of the pods so that they allow $labels of flavor $flavor", kEditJob},
    {Cause::kAffinity, kAdmin, "Add a flavor that suits the pods", kEditQueue},
    {Cause::kResourceWithoutQuota, kYou, "Did you mean resource $meant instead of $resource? Correct the requests",
     kEditJob},
    {Cause::kResourceWithoutQuota, kYou, "Remove $resource from the requested resources of the pods", kEditJob},
    {Cause::kResourceWithoutQuota, kAdmin, "Give ClusterQueue $cq quota for $resource", kEditQueue},
    {Cause::kFlavorsFailed, kAdmin, "Add a flavor that has not failed for it", kEditQueue},
    {Cause::kQuotaInUse, kYou, "See who holds $resource", "kubectl muster who $resource -q $queue -n $ns"},
    {Cause::kQuotaTooSmall, kYou, "Lower the requests or the parallelism of the job", kEditJob},
    {Cause::kQuotaTooSmall, kAdmin,
     "Raise nominalQuota or borrowingLimit of $resource in flavor $flavor (or the quota of the cohort)", kEditQueue},
    {Cause::kVictimsStop, kWait, "Starts when they have stopped, as their grace periods allow."},
    {Cause::kProtectedWorkloads, kAdmin,
     "Shorten the wait with the annotation muster.batch/preemption-protection-limit of the ClusterQueue",
     "kubectl annotate clusterqueue $cq muster.batch/preemption-protection-limit=5m --overwrite"},
    {Cause::kOthersNotReady, kWait,
     "Is evaluated again when these pods are ready, or after their timeout of $timeout when they are evicted."},
    {Cause::kDevices, kYou,
     "Create the job again without resourceClaims. Devices that a device plugin offers are resources: request them in "
     "resources.limits"},
    {Cause::kLimits, kYou, "Correct the requests and limits of the pods", kEditJob},
    {Cause::kLimitRange, kYou, "Correct the requests and limits of the pods", kEditJob},
    {Cause::kLimitRange, kAdmin, "Change LimitRange $range", "kubectl -n $ns edit limitrange $range"},
    {Cause::kInvalid, kYou, "Correct what is named", kEditJob},
    {Cause::kAdmissionUnwritten, kWait, "muster sends the admission until the API server accepts it."},
    {Cause::kAdmissionUnwritten, kAdmin,
     "See in muster's metrics (rest_client_*) and log whether the API server is slow or fails (docs/runbooks.md)",
     "kubectl muster doctor"},
    {Cause::kBeingAdmitted, kWait, "Starts in a moment; ask again."},
    {Cause::kDeactivated, kAdmin, "Requeue it",
     "kubectl -n $ns patch workload $workload --type merge -p {\"spec\":{\"active\":true}}"},
    {Cause::kStopping, kWait, "The pods have their grace period; those on lost nodes wait for the node."},
    {Cause::kBackoff, kWait, "It is requeued at that time without further action."},
    {Cause::kChecksPending, kWait, "Starts when the controllers of these checks set them to Ready."},
    {Cause::kPreempted, kWait, "It is requeued without further action when its pods are deleted."},
};

// With every $word filled in; nullopt: one is unknown.
std::optional<std::string> filled(std::string_view text, const Words& words) {
  std::string made;
  while (!text.empty()) {
    const size_t at = text.find('$');
    made += text.substr(0, at);
    if (at == std::string_view::npos) break;
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 1);
    const auto word = words.find(text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
    if (word == words.end()) return std::nullopt;
    made += word->second;
    text = end == std::string_view::npos ? std::string_view() : text.substr(end);
  }
  return made;
}

// Empty: a value is unknown, or could become something else than a name: an option, say.
std::string command_of(std::string_view text, const Words& words) {
  std::string command;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view part = text.substr(0, space);
    const auto value = filled(part, words);
    if (!value || value->empty() || (part.front() == '$' && value->front() == '-')) return "";
    const auto word = shell_word(*value);
    if (!word) return "";
    command += (command.empty() ? "" : " ") + *word;
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return command;
}

}  // namespace

std::span<const Remedy> remedies() {
  return kRemedies;
}

void add_remedies(Cause cause, Words words, ExplainReply& reply) {
  words.emplace("ns", reply.ns);
  for (const Remedy& remedy : kRemedies) {
    if (remedy.cause != cause) continue;
    auto what = filled(remedy.what, words);
    if (!what) continue;
    if (remedy.by.empty()) {
      reply.starts_when(*std::move(what));
      continue;
    }
    // A name that is suggested is of no use without its command.
    std::string command = command_of(remedy.command, words);
    if (command.empty() && remedy.suggests != nullptr) continue;
    ExplainedAction action{.by = std::string(remedy.by),
                           .what = *std::move(what),
                           .command = std::move(command),
                           .suggests = remedy.suggests};
    if (std::find(reply.actions.begin(), reply.actions.end(), action) == reply.actions.end())
      reply.can(std::move(action));
  }
}

Words words_of(const ResourceType& type, const std::string& name) {
  const std::string plural(type.plural);
  const bool is_core = type.group.empty() || type.group == "batch";
  return {{"type", is_core ? plural : plural + "." + std::string(type.group)}, {"name", name}};
}

}  // namespace muster::explain
