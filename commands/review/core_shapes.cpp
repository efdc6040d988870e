#include "commands/review/core_shapes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/owner_reference.h"
#include "api/review/pod_schema.h"
#include "base/did_you_mean.h"
#include "jobs/job_kind.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr size_t kLongestCronJobName = 52;  // 63, less a dash and the time that the name of a Job ends with

// What is written of a field; nullptr: nothing, as null counts.
const json* written(const json& object, const char* field) {
  const json* value = find_path(object, {field});
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool is_empty_text(const json& object, const char* field) {
  const json* value = written(object, field);
  return value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty());
}

// Types are checked by the schema; here a string has one of few values.
void check_word(const json& object, const FieldPath& path, const char* field, const std::vector<std::string>& words,
                FieldErrors& errors) {
  const json* value = written(object, field);
  if (value == nullptr || !value->is_string()) return;
  if (std::find(words.begin(), words.end(), value->get_ref<const std::string&>()) == words.end())
    errors.push_back(not_supported(path.child(field), *value, words));
}

void require(const json& object, const FieldPath& path, const char* field, FieldErrors& errors) {
  if (is_empty_text(object, field)) errors.push_back(required(path.child(field), ""));
}

// One pod.
class PodShape {
 public:
  // `complete`: the object says itself which volumes there are.
  PodShape(const json& spec, FieldPath path, bool complete, FieldErrors& errors)
      : spec_(spec), path_(std::move(path)), complete_(complete), errors_(errors) {}

  void check() {
    const json& volumes = array_at(spec_, {"volumes"});
    for (size_t i = 0; i < volumes.size(); ++i) check_name(volumes[i], path_.child("volumes").index(i), volumes_);
    if (array_at(spec_, {"containers"}).empty() && !is_wrong_list("containers"))
      errors_.push_back(required(path_.child("containers"), ""));
    for (const char* list : {"initContainers", "containers"}) {
      const json& containers = array_at(spec_, {list});
      for (size_t i = 0; i < containers.size(); ++i) check_container(containers[i], path_.child(list).index(i));
    }
  }

 private:
  // Its type is wrong, which the schema says.
  bool is_wrong_list(const char* field) const {
    const json* value = written(spec_, field);
    return value != nullptr && !value->is_array();
  }

  void check_name(const json& named, const FieldPath& path, std::set<std::string>& names) {
    require(named, path, "name", errors_);
    const std::string name(string_at(named, {"name"}));
    if (name.empty()) return;
    for (const std::string& complaint : is_dns1123_label(name))
      errors_.push_back(invalid(path.child("name"), name, complaint));
    if (!names.insert(name).second) errors_.push_back(duplicate(path.child("name"), name));
  }

  void check_container(const json& container, const FieldPath& path) {
    if (!container.is_object()) return;
    check_name(container, path, containers_);
    require(container, path, "image", errors_);
    check_word(container, path, "imagePullPolicy", {"Always", "IfNotPresent", "Never"}, errors_);
    const json& environment = array_at(container, {"env"});
    for (size_t i = 0; i < environment.size(); ++i)
      require(environment[i], path.child("env").index(i), "name", errors_);
    const json& ports = array_at(container, {"ports"});
    for (size_t i = 0; i < ports.size(); ++i) {
      if (written(ports[i], "containerPort") == nullptr)
        errors_.push_back(required(path.child("ports").index(i).child("containerPort"), ""));
    }
    const json& mounts = array_at(container, {"volumeMounts"});
    for (size_t i = 0; i < mounts.size(); ++i) check_mount(mounts[i], path.child("volumeMounts").index(i));
  }

  void check_mount(const json& mount, const FieldPath& path) {
    require(mount, path, "name", errors_);
    require(mount, path, "mountPath", errors_);
    const std::string name(string_at(mount, {"name"}));
    if (complete_ && !name.empty() && !volumes_.contains(name)) errors_.push_back(not_found(path.child("name"), name));
  }

  const json& spec_;
  const FieldPath path_;
  const bool complete_;
  FieldErrors& errors_;
  std::set<std::string> volumes_, containers_;
};

void check_job(const json& spec, const FieldPath& path, bool complete, FieldErrors& errors) {
  check_word(spec, path, "completionMode", {"Indexed", "NonIndexed"}, errors);
  // Of a Job that has neither, both are set to 1.
  const bool has_half = written(spec, "completions") == nullptr && written(spec, "parallelism") != nullptr;
  if (string_at(spec, {"completionMode"}) == "Indexed" && has_half)
    errors.push_back(required(path.child("completions"), "when completion mode is Indexed"));
  const FieldPath pod_path = path.child("template").child("spec");
  const json& pod = object_at(spec, {"template", "spec"});
  PodShape(pod, pod_path, complete, errors).check();
  const json* restart = written(pod, "restartPolicy");
  if (restart == nullptr || (restart->is_string() && *restart != "OnFailure" && *restart != "Never"))
    errors.push_back(required(pod_path.child("restartPolicy"), "valid values: \"OnFailure\", \"Never\""));
}

void check_schedule(const json& spec, FieldErrors& errors) {
  const FieldPath path("spec");
  require(spec, path, "schedule", errors);
  const std::string schedule(string_at(spec, {"schedule"}));
  if (schedule.empty() || schedule.starts_with('@')) return;
  std::istringstream words(schedule);
  size_t count = 0;
  for (std::string word; words >> word;) ++count;
  if (count != 5)
    errors.push_back(invalid(path.child("schedule"), schedule,
                             "expected exactly 5 fields, found " + std::to_string(count) +
                                 ": minute, hour, day of month, month, day of week"));
}

void check_cron_job(const json& object, FieldErrors& errors) {
  const json& spec = object_at(object, {"spec"});
  const std::string_view name = string_at(object, {"metadata", "name"});
  if (name.size() > kLongestCronJobName)
    errors.push_back(invalid("metadata.name", name, "must be no more than 52 characters"));
  check_schedule(spec, errors);
  check_word(spec, FieldPath("spec"), "concurrencyPolicy", {"Allow", "Forbid", "Replace"}, errors);
  check_job(object_at(spec, {"jobTemplate", "spec"}), FieldPath("spec").child("jobTemplate").child("spec"), true,
            errors);
}

// Of the whole object: fields that it does not have, and fields of a wrong type.
void check_types(const json& object, std::string_view spec_type, ShapeFindings& found) {
  for (auto field = object.begin(); field != object.end(); ++field) {
    const std::string& name = field.key();
    if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "spec" && name != "status")
      found.unknown_fields.push_back(
          forbidden(name, "unknown field" + did_you_mean(name, std::vector<std::string>{"metadata", "spec"})));
  }
  SchemaFindings types;
  if (const json* metadata = written(object, "metadata"))
    check_template("ObjectMeta", *metadata, FieldPath("metadata"), types);
  if (const json* spec = written(object, "spec")) check_template(spec_type, *spec, FieldPath("spec"), types);
  append(found.errors, std::move(types.errors));
  for (std::string& path : types.unknown) found.unknown_fields.push_back(forbidden(std::move(path), "unknown field"));
}

// Of one field the first error is enough: its type before what follows from it.
FieldErrors first_of_each_field(FieldErrors found) {
  FieldErrors errors;
  std::set<std::string> fields;
  size_t more = 0;
  for (FieldError& error : found) {
    if (!fields.insert(error.field).second) continue;
    if (errors.size() < kMostFindings)
      errors.push_back(std::move(error));
    else
      ++more;
  }
  if (more > 0) errors.push_back(forbidden("spec", "has " + std::to_string(more) + " more errors"));
  return errors;
}

struct ServedKinds {
  std::string_view group, version;
  std::vector<std::string> kinds;
};

// Groups in which there are no kinds but Kubernetes' own.
const std::vector<ServedKinds>& kubernetes_kinds() {
  static const std::vector<ServedKinds> kinds = {
      {"",
       "v1",
       {"Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "List", "Namespace", "Node",
        "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController", "ResourceQuota",
        "Secret", "Service", "ServiceAccount"}},
      {"apps", "v1", {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}},
      {"batch", "v1", {"CronJob", "Job"}},
  };
  return kinds;
}

// Of groups that other kinds can be in as well: those that muster knows.
std::vector<std::string> known_kinds_of(std::string_view group) {
  std::vector<std::string> kinds;
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (kind->type.group == group) kinds.emplace_back(kind->type.kind);
  }
  for (const char* kind : {"AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Workload",
                           "WorkloadPriorityClass"}) {
    if (group == "kueue.x-k8s.io") kinds.emplace_back(kind);
  }
  return kinds;
}

// Where a kind of this name is, for an object with the wrong group.
std::string elsewhere(std::string_view kind) {
  for (const ServedKinds& served : kubernetes_kinds()) {
    if (std::find(served.kinds.begin(), served.kinds.end(), kind) == served.kinds.end()) continue;
    return "; " + std::string(kind) + " is of apiVersion " +
           (served.group.empty() ? "" : std::string(served.group) + "/") + std::string(served.version);
  }
  for (const jobs::JobKind* known : jobs::job_kinds()) {
    if (known->type.kind == kind)
      return "; " + std::string(kind) + " is of apiVersion " + std::string(known->type.api_version);
  }
  return "";
}

std::string no_match(std::string_view kind, std::string_view api_version) {
  return "no matches for kind \"" + std::string(kind) + "\" in version \"" + std::string(api_version) + "\"";
}

}  // namespace

ShapeFindings check_core_shape(const json& object, const RuleSettings& settings) {
  const std::string_view group = group_of(string_at(object, {"apiVersion"})), kind = string_at(object, {"kind"});
  ShapeFindings found;
  const json& spec = object_at(object, {"spec"});
  if (group == "batch" && kind == "Job") {
    check_types(object, "JobSpec", found);
    check_job(spec, FieldPath("spec"), true, found.errors);
  } else if (group == "batch" && kind == "CronJob") {
    check_types(object, "CronJobSpec", found);
    check_cron_job(object, found.errors);
  } else if (group.empty() && kind == "Pod") {
    check_types(object, "PodSpec", found);
    check_word(spec, FieldPath("spec"), "restartPolicy", {"Always", "OnFailure", "Never"}, found.errors);
    PodShape(spec, FieldPath("spec"), true, found.errors).check();
  } else if (const jobs::JobKind* known = jobs::find_job_kind(group, kind); known == &jobs::jobset) {
    const json& replicated = array_at(spec, {"replicatedJobs"});
    for (size_t i = 0; i < replicated.size(); ++i) {
      const FieldPath path = FieldPath("spec").child("replicatedJobs").index(i).child("template").child("spec");
      check_job(object_at(replicated[i], {"template", "spec"}), path, false, found.errors);
    }
  } else if (known != nullptr && !known->is_enabled(settings)) {
    SchemaFindings types;
    for (const jobs::ConstPodTemplateRef& ref : known->read_pod_templates(object))
      check_template("PodTemplateSpec", *ref.template_json, ref.path, types);
    append(found.errors, std::move(types.errors));
  }
  found.errors = first_of_each_field(std::move(found.errors));
  return found;
}

std::optional<std::string> why_no_kind(const json& object) {
  const std::string_view api_version = string_at(object, {"apiVersion"}), kind = string_at(object, {"kind"});
  const std::string_view group = group_of(api_version);
  for (const ServedKinds& served : kubernetes_kinds()) {
    if (served.group != group) continue;
    const bool known = std::find(served.kinds.begin(), served.kinds.end(), kind) != served.kinds.end();
    const std::string in_force = (group.empty() ? "" : std::string(group) + "/") + std::string(served.version);
    if (known && api_version == in_force) return std::nullopt;
    if (known) return no_match(kind, api_version) + "; it is of apiVersion " + in_force;
    const std::string other = elsewhere(kind);
    return no_match(kind, api_version) + (other.empty() ? did_you_mean(kind, served.kinds) : other);
  }
  const std::vector<std::string> kinds = known_kinds_of(group);
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return std::nullopt;
  // The group can have kinds that muster does not know. One with a letter or two of difference it has not.
  const std::string nearest = nearest_word(kind, kinds);
  const size_t difference = nearest.size() > kind.size() ? nearest.size() - kind.size() : kind.size() - nearest.size();
  if (nearest.empty() || difference > 2) return std::nullopt;
  return no_match(kind, api_version) + "; did you mean \"" + nearest + "\"?";
}

}  // namespace muster::commands
