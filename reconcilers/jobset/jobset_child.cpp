#include "reconcilers/jobset/jobset_child.h"

#include <initializer_list>
#include <set>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/in_place_pod.h"
#include "base/ascii.h"
#include "base/encoding.h"
#include "jobs/edit.h"
#include "jobs/jobset/jobset_fields.h"
#include "kinds/typed_object.h"
#include "reconcilers/command.h"
#include "reconcilers/jobset/jobset_placement.h"
#include "reconcilers/jobset/jobset_resume.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr std::string_view kReplicatedJobReplicasKey = "jobset.sigs.k8s.io/replicatedjob-replicas";
constexpr std::string_view kGlobalReplicasKey = "jobset.sigs.k8s.io/global-replicas";
constexpr std::string_view kJobGlobalIndexKey = "jobset.sigs.k8s.io/job-global-index";
constexpr std::string_view kGroupNameKey = "jobset.sigs.k8s.io/group-name";
constexpr std::string_view kGroupReplicasKey = "jobset.sigs.k8s.io/group-replicas";
constexpr std::string_view kJobGroupIndexKey = "jobset.sigs.k8s.io/job-group-index";

// Of the strategy of exclusive placement by node selectors.
constexpr std::string_view kNamespacedJobKey = "alpha.jobset.sigs.k8s.io/namespaced-job";
constexpr std::string_view kNoScheduleTaintKey = "alpha.jobset.sigs.k8s.io/no-schedule";

json parsed(const std::string& text) {
  auto value = parse_json(text);
  return value && value->is_object() ? std::move(*value) : json::object();
}

// Upstream looks at the JobSet first and lets the template win.
json exclusive_annotations(const JobSet& jobset, const Labels& of_template) {
  json found = json::object();
  for (const Labels* annotations : std::initializer_list<const Labels*>{&jobset.meta.annotations, &of_template}) {
    if (!annotations->contains(kExclusiveTopologyAnnotation)) continue;
    for (std::string_view key : {kExclusiveTopologyAnnotation, kNodeSelectorStrategyAnnotation}) {
      if (const auto value = annotations->find(key); value != annotations->end()) {
        found[std::string(key)] = value->second;
      }
    }
  }
  return found;
}

void choose_nodes(const JobSet& jobset, const std::string& job_name, json& pod_spec) {
  if (json* selector = jobs::make_object(pod_spec, {"nodeSelector"})) {
    (*selector)[std::string(kNamespacedJobKey)] = jobset.meta.ns + "_" + job_name;
  }
  json& tolerations = pod_spec["tolerations"];
  if (!tolerations.is_array()) tolerations = json::array();
  tolerations.push_back({{"key", kNoScheduleTaintKey}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
}

bool mounts(const json& pod_spec, std::string_view volume) {
  for (const std::string_view containers : {"initContainers", "containers"}) {
    for (const json& container : array_at(pod_spec, {containers})) {
      for (const json& mount : array_at(container, {"volumeMounts"})) {
        if (string_at(mount, {"name"}) == volume) return true;
      }
    }
  }
  return false;
}

// The claims of the JobSet that these pods mount.
void add_claims(const JobSet& jobset, json& pod_spec) {
  for (const VolumeClaim& claim : jobset.volume_claims) {
    if (!mounts(pod_spec, claim.name)) continue;
    json& volumes = pod_spec["volumes"];
    if (!volumes.is_array()) volumes = json::array();
    volumes.push_back({{"name", claim.name},
                       {"persistentVolumeClaim", {{"claimName", jobs::claim_name(jobset.meta.name, claim.name)}}}});
  }
}

bool runs_beside_others(const json& container, std::string_view list) {
  return list == "containers" || string_at(container, {"restartPolicy"}) == "Always";
}

// An EndpointSlice has no more.
constexpr size_t kMostPorts = 100;

// Of all containers of all pods, each port of each protocol once: meshes route only to ports that a Service declares.
// Its name is the container's, which tells meshes what is spoken there, unless another port has that name.
class ServicePorts {
 public:
  void add(const json& port) {
    const auto number = int_at(port, {"containerPort"});
    if (!number || *number <= 0 || ports_.size() == kMostPorts) return;
    const std::string_view said = string_at(port, {"protocol"});
    const std::string protocol(said.empty() ? "TCP" : said);
    if (!known_.emplace(protocol, *number).second) return;
    const std::string plain = in_small_letters(protocol) + "-" + std::to_string(*number);
    const std::string name(string_at(port, {"name"}));
    // Names with such a beginning are kept for ports without one.
    const bool reserved = name.starts_with("tcp-") || name.starts_with("udp-") || name.starts_with("sctp-");
    const bool own = !name.empty() && !reserved && names_.insert(name).second;
    ports_.push_back({{"name", own ? name : plain}, {"port", *number}, {"protocol", protocol}});
  }
  json take() { return std::move(ports_); }

 private:
  json ports_ = json::array();
  std::set<std::pair<std::string, int64_t>> known_;
  std::set<std::string> names_;
};

json service_ports(const JobSet& jobset) {
  ServicePorts ports;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    const json from = parsed(replicated.template_text);
    const json& pod_spec = object_at(from, {"spec", "template", "spec"});
    for (const std::string_view list : {"containers", "initContainers"})
      for (const json& container : array_at(pod_spec, {list}))
        if (runs_beside_others(container, list))
          for (const json& port : array_at(container, {"ports"})) ports.add(port);
  }
  return ports.take();
}

}  // namespace

std::string coordinator_endpoint(const JobSet& jobset) {
  if (!jobset.coordinator) return "";
  const Coordinator& coordinator = *jobset.coordinator;
  return jobs::pod_address(jobs::child_job_name(jobset.meta.name, coordinator.replicated_job, coordinator.job_index),
                           coordinator.pod_index, jobset.subdomain);
}

ChildJobMaker::ChildJobMaker(const JobSet& jobset, const ReplicatedJob& replicated, const ChildJobOptions& options)
    : jobset_(jobset), replicated_(replicated), options_(options) {
  const json from = parsed(replicated.template_text);
  const json& annotations = object_at(from, {"metadata", "annotations"});
  exclusive_ = exclusive_annotations(jobset, read_string_map(annotations));

  job_ = {{"apiVersion", kJobs.api_version}, {"kind", kJobs.kind}, {"spec", object_at(from, {"spec"})}};
  job_["metadata"] = {{"namespace", jobset.meta.ns},
                      {"labels", read_string_map(object_at(from, {"metadata", "labels"}))},
                      {"annotations", read_string_map(annotations)},
                      {"ownerReferences", json::array({controller_reference(kJobSets, jobset.meta, true)})}};
  if (records_templates(jobset))
    if (std::string record = applied_template(object_at(from, {"spec", "template"})); !record.empty())
      job_["metadata"]["annotations"][std::string(kAppliedTemplateAnnotation)] = std::move(record);
  if (options.records_resources)
    job_["metadata"]["annotations"][std::string(kAppliedResourcesAnnotation)] =
        applied_resources(object_at(from, {"spec", "template"}));
  job_["spec"]["suspend"] = jobset.suspended;
  json* pod_spec = jobs::make_object(job_, {"spec", "template", "spec"});
  if (pod_spec != nullptr && jobset.dns_hostnames) (*pod_spec)["subdomain"] = jobset.subdomain;
  if (pod_spec != nullptr) add_claims(jobset, *pod_spec);

  int64_t global_replicas = 0;
  int64_t group_replicas = 0;
  bool before = true;
  for (const ReplicatedJob& other : jobset.replicated_jobs) {
    before = before && other.name != replicated.name;
    const bool same_group = other.group_name == replicated.group_name;
    global_replicas += other.replicas;
    if (same_group) group_replicas += other.replicas;
    if (before) first_global_index_ += other.replicas;
    if (before && same_group) first_group_index_ += other.replicas;
  }
  labels_ = {{kJobSetNameKey, jobset.meta.name},
             {kJobSetUidLabel, jobset.meta.uid},
             {kReplicatedJobNameKey, replicated.name},
             {kReplicatedJobReplicasKey, std::to_string(replicated.replicas)},
             {kGlobalReplicasKey, std::to_string(global_replicas)},
             {kGroupNameKey, replicated.group_name},
             {kGroupReplicasKey, std::to_string(group_replicas)},
             {kRestartAttemptLabel, std::to_string(jobset.status.restarts)}};
  if (jobset.coordinator) labels_[std::string(kCoordinatorKey)] = coordinator_endpoint(jobset);
}

json ChildJobMaker::make(int32_t index) const {
  const std::string name = jobs::child_job_name(jobset_.meta.name, replicated_.name, index);
  json labels = labels_;
  labels[std::string(kJobIndexKey)] = std::to_string(index);
  labels[std::string(kJobGlobalIndexKey)] = std::to_string(first_global_index_ + index);
  labels[std::string(kJobGroupIndexKey)] = std::to_string(first_group_index_ + index);
  labels[std::string(kJobKeyKey)] = sha1_hex(path_of(jobset_.meta.ns, name));
  if (options_.labels_job_restarts)
    labels[std::string(kJobRestartAttemptKey)] =
        std::to_string(jobset_.status.job_restarts_of(replicated_.name, index));

  json job = job_;
  job["metadata"]["name"] = name;
  for (json* object : {&job, jobs::existing_object(job, {"spec", "template"})}) {
    if (object == nullptr) continue;
    if (json* theirs = jobs::make_object(*object, {"metadata", "labels"})) {
      theirs->update(labels);
      if (jobset_.restarts_in_place()) (*theirs)[std::string(kInPlaceRestartLabel)] = kInPlaceRestartLabelValue;
    }
    if (json* theirs = jobs::make_object(*object, {"metadata", "annotations"})) {
      theirs->update(labels);
      theirs->update(exclusive_);
      if (options_.execution_attempt)
        (*theirs)[std::string(kExecutionAttemptAnnotation)] = std::to_string(*options_.execution_attempt);
    }
  }
  json* pod_spec = jobs::existing_object(job, {"spec", "template", "spec"});
  if (pod_spec != nullptr && annotation(job, kExclusiveTopologyAnnotation) &&
      annotation(job, kNodeSelectorStrategyAnnotation)) {
    choose_nodes(jobset_, name, *pod_spec);
  }
  if (json* pod_template = jobs::existing_object(job, {"spec", "template"}))
    place_exclusively(options_.priority, *pod_template);
  return job;
}

json volume_claim(const JobSet& jobset, const VolumeClaim& claim) {
  const json from = parsed(claim.text);
  json labels = read_string_map(object_at(from, {"metadata", "labels"}));
  labels[std::string(kJobSetNameKey)] = jobset.meta.name;
  json made = {{"apiVersion", kPersistentVolumeClaims.api_version},
               {"kind", kPersistentVolumeClaims.kind},
               {"metadata",
                {{"name", jobs::claim_name(jobset.meta.name, claim.name)},
                 {"namespace", jobset.meta.ns},
                 {"labels", std::move(labels)},
                 {"annotations", read_string_map(object_at(from, {"metadata", "annotations"}))}}},
               {"spec", object_at(from, {"spec"})}};
  if (!claim.retained)
    made["metadata"]["ownerReferences"] = json::array({controller_reference(kJobSets, jobset.meta, true)});
  return made;
}

json headless_service(const JobSet& jobset) {
  const json by_name = {{kJobSetNameKey, jobset.meta.name}};
  json ports = service_ports(jobset);
  json made = {{"apiVersion", kServices.api_version},
               {"kind", kServices.kind},
               {"metadata",
                {{"name", jobset.subdomain},
                 {"namespace", jobset.meta.ns},
                 {"labels", by_name},
                 {"ownerReferences", json::array({controller_reference(kJobSets, jobset.meta, true)})}}},
               {"spec",
                {{"clusterIP", "None"},
                 {"selector", by_name},
                 {"publishNotReadyAddresses", jobset.publish_not_ready_addresses}}}};
  if (!ports.empty()) made["spec"]["ports"] = std::move(ports);
  return made;
}

}  // namespace muster::reconcilers
