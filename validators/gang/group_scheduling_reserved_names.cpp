// The names of the start barrier (KEP-498) belong to muster: no container or volume of a user can have them,
// and no other volume can be mounted at the waiter's path. Rejected, for example:
//
//   containers: [{name: group-scheduling-init, image: busybox}]
//
// A container that runs muster's waiter with muster's mount was added by muster. It occurs in templates of a
// gang's targets, and in Jobs that a controller has created from such a template. In any other new object it is
// a copy, and no controller would ever release it.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/review/cluster_view.h"
#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_reserved_names {
namespace {

using nlohmann::json;

constexpr const char* kRename = "is reserved for muster's start barrier; choose another name";

void check_mounts(const json& container, const FieldPath& path, FieldErrors& errors) {
  const json& mounts = array_at(container, {"volumeMounts"});
  for (size_t i = 0; i < mounts.size(); ++i) {
    const std::string_view mount_path = string_at(mounts[i], {"mountPath"});
    if (!jobs::is_group_mount_path(mount_path) || string_at(mounts[i], {"name"}) == kGroupVolume) continue;
    errors.push_back(invalid(path.child("volumeMounts").index(i).child("mountPath"), json(mount_path),
                             "is reserved for muster's start barrier; mount the volume at another path"));
  }
}

// `waits_here`: whether this template can have a barrier.
FieldErrors check_template(const jobs::ConstPodTemplateRef& ref, bool waits_here) {
  FieldErrors errors;
  const FieldPath spec = ref.path.child("spec");
  const std::string stray =
      "is muster's start barrier, but nothing here would release it; remove the init container and the volume, or "
      "make this pod template part of a group";
  if (!waits_here && object_at(*ref.template_json, {"metadata", "labels"}).contains(kGroupLabel)) {
    errors.push_back(forbidden(ref.path.child("metadata").child("labels").key(kGroupLabel),
                               "is reserved for pods that wait at muster's start barrier; remove the label"));
  }
  const json& init_containers = array_at(*ref.template_json, {"spec", "initContainers"});
  for (size_t i = 0; i < init_containers.size(); ++i) {
    const FieldPath path = spec.child("initContainers").index(i);
    check_mounts(init_containers[i], path, errors);
    if (string_at(init_containers[i], {"name"}) != kGroupInitContainer) continue;
    const bool ours = jobs::is_waiter(init_containers[i]);
    if (!ours || !waits_here) {
      errors.push_back(invalid(path.child("name"), json(kGroupInitContainer), ours ? stray : kRename));
    }
  }
  const json& containers = array_at(*ref.template_json, {"spec", "containers"});
  for (size_t i = 0; i < containers.size(); ++i) {
    const FieldPath path = spec.child("containers").index(i);
    check_mounts(containers[i], path, errors);
    if (string_at(containers[i], {"name"}) != kGroupInitContainer) continue;
    errors.push_back(invalid(path.child("name"), json(kGroupInitContainer), kRename));
  }
  const json& volumes = array_at(*ref.template_json, {"spec", "volumes"});
  const bool has_waiter = jobs::find_waiter(*ref.template_json).has_value();
  for (size_t i = 0; i < volumes.size(); ++i) {
    if (string_at(volumes[i], {"name"}) != kGroupVolume) continue;
    if (jobs::is_barrier_volume(volumes[i]) && (waits_here || has_waiter)) continue;
    errors.push_back(invalid(spec.child("volumes").index(i).child("name"), json(kGroupVolume), kRename));
  }
  return errors;
}

FieldErrors check_new(const jobs::JobKind& kind, const json& object) {
  const std::optional<jobs::GroupConfig> config = jobs::group_config(kind, object);
  const bool made_by_controller = controller_of(object).has_value();
  FieldErrors errors;
  for (const jobs::ConstPodTemplateRef& ref : kind.read_pod_templates(object)) {
    append(errors, check_template(ref, made_by_controller || (config && config->has_target(ref.name))));
  }
  return errors;
}

FieldErrors check_existing(const jobs::JobKind& kind, const json& object) {
  FieldErrors errors;
  for (const jobs::ConstPodTemplateRef& ref : kind.read_pod_templates(object))
    append(errors, check_template(ref, true));
  return errors;
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return {};
  if (review.request.operation == Operation::kCreate) return check_new(*kind, review.request.object);
  // Jobs that are older than muster cannot be renamed any more; they must still resume and finish.
  return new_errors(review, [kind](const json& object) { return check_existing(*kind, object); });
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_reserved_names",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_reserved_names
