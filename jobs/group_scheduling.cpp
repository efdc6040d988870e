#include "jobs/group_scheduling.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "jobs/edit.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

bool is_jobset(const JobKind& kind) {
  return &kind == &jobset;
}

// Between the name of a Job and the suffix of all ConfigMaps.
constexpr std::string_view kSuffixOfJob = ".job";
constexpr std::string_view kOldSuffixOfJob = "-job";

bool ends_with_barrier_suffix(std::string_view name) {
  return name.ends_with(kGroupConfigMapSuffix);
}

// The part behind the last '/'.
std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool mentions(const json& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](const json& word) {
    const auto* string = word.get_ptr<const std::string*>();
    return string != nullptr && string->find(text) != std::string::npos;
  });
}

bool runs_waiter(const json& container) {
  const json& command = array_at(container, {"command"});
  if (command.empty() || !command[0].is_string()) return false;
  if (base_name(command[0].get_ref<const std::string&>()) == kWaiterProgram) return true;
  const std::string started_file = std::string(kGroupMountPath) + "/" + std::string(kGroupStartedKey);
  return std::find(command.begin(), command.end(), kWaiterProgram) != command.end() ||
         mentions(command, started_file) || mentions(array_at(container, {"args"}), started_file);
}

const FieldPath& field_path() {
  static const FieldPath path = FieldPath("spec").child("groupSchedulingConfig");
  return path;
}

FieldPath annotation_path(std::string_view key) {
  return FieldPath("metadata").child("annotations").key(key);
}

std::vector<std::string> replicated_job_names(const json& job) {
  std::vector<std::string> names;
  for (const json& replicated : array_at(job, {"spec", "replicatedJobs"})) {
    names.emplace_back(string_at(replicated, {"name"}));
  }
  return names;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + muster::to_text(json(name));
  return text.empty() ? "none" : text;
}

// A timeout that can be used, or an error. Kubernetes keeps it as an int32.
std::optional<int64_t> check_timeout(const FieldPath& path, const json& shown, int64_t seconds, FieldErrors& errors) {
  constexpr int64_t kMaxInt32 = 2'147'483'647;
  if (seconds >= 1 && seconds <= kMaxInt32) return seconds;
  errors.push_back(invalid(path, shown,
                           seconds < 1 ? "must be at least 1: the seconds that the pods of the group may take to start"
                                       : "must be at most 2147483647 seconds"));
  return std::nullopt;
}

std::optional<int64_t> read_field_timeout(const json& config, FieldErrors& errors) {
  const FieldPath path = field_path().child("timeoutAfterSeconds");
  const json* value = find_path(config, {"timeoutAfterSeconds"});
  if (value == nullptr || value->is_null()) {
    errors.push_back(required(path, "say how many seconds the pods of the group may take to start, for example 300"));
    return std::nullopt;
  }
  if (!value->is_number_integer()) {
    errors.push_back(type_invalid(path, *value, "must be a whole number of seconds"));
    return std::nullopt;
  }
  // Numbers beyond int64 are unsigned, and all of them are too large.
  bool huge = value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  return check_timeout(path, *value, huge ? INT64_MAX : value->get<int64_t>(), errors);
}

std::optional<int64_t> read_annotation_timeout(std::string_view text, FieldErrors& errors) {
  const FieldPath path = annotation_path(kGroupTimeoutAnnotation);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number) {
    errors.push_back(invalid(path, json(text), "must be a whole number of seconds in quotes, for example \"300\""));
    return std::nullopt;
  }
  // Eighteen digits fit an int64; more are too large in any case.
  int64_t seconds = digits.size() > 18 ? INT64_MAX : std::stoll(std::string(digits));
  return check_timeout(path, json(text), text.starts_with('-') ? -seconds : seconds, errors);
}

// `paths[i]` is where names[i] stands, for the message.
void check_targets(const std::vector<std::string>& names, const std::vector<FieldPath>& paths,
                   const std::vector<std::string>& known, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(known.begin(), known.end(), names[i]) == known.end()) {
      errors.push_back(invalid(paths[i], json(names[i]),
                               "is not a replicated job of this JobSet; name one of " + quoted_list(known) +
                                   ", or list no target for all of them"));
    } else if (!seen.insert(names[i]).second) {
      errors.push_back(
          {paths[i], FieldErrorType::kDuplicate, muster::to_text(json(names[i])), "list each target once"});
    }
  }
}

std::optional<std::vector<std::string>> read_field_targets(const json& config, const std::vector<std::string>& known,
                                                           FieldErrors& errors) {
  const FieldPath path = field_path().child("targetReplicatedJobs");
  const json* value = find_path(config, {"targetReplicatedJobs"});
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_array()) {
    errors.push_back(type_invalid(path, *value, "must be a list of names of replicated jobs"));
    return std::nullopt;
  }
  if (value->empty()) return std::nullopt;
  std::vector<std::string> names;
  std::vector<FieldPath> paths;
  for (size_t i = 0; i < value->size(); ++i) {
    const json& name = (*value)[i];
    if (!name.is_string()) {
      errors.push_back(type_invalid(path.index(i), name, "must be the name of a replicated job"));
      continue;
    }
    names.push_back(name.get<std::string>());
    paths.push_back(path.index(i));
  }
  check_targets(names, paths, known, errors);
  return names;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    size_t begin = part.find_first_not_of(' ');
    size_t end = part.find_last_not_of(' ');
    parts.emplace_back(begin == std::string_view::npos ? "" : part.substr(begin, end - begin + 1));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::vector<std::string>> read_annotation_targets(std::string_view text,
                                                                const std::vector<std::string>& known,
                                                                FieldErrors& errors) {
  const FieldPath path = annotation_path(kGroupTargetsAnnotation);
  std::vector<std::string> names = split_at_commas(text);
  if (std::find(names.begin(), names.end(), "") != names.end()) {
    errors.push_back(invalid(path, json(text),
                             "must be names of replicated jobs with commas between, for example \"workers,driver\"; "
                             "leave the annotation out for all of them"));
    return std::nullopt;
  }
  check_targets(names, std::vector<FieldPath>(names.size(), path), known, errors);
  return names;
}

std::optional<GroupTimeoutAction> check_action(const FieldPath& path, std::string_view text, FieldErrors& errors) {
  if (text == kGroupActionFail) return GroupTimeoutAction::kFail;
  if (text == kGroupActionSuspend) return GroupTimeoutAction::kSuspend;
  errors.push_back({path, FieldErrorType::kNotSupported, muster::to_text(json(text)),
                    "supported values: \"Fail\" (the default), \"Suspend\" (keeps the object, frees its nodes)"});
  return std::nullopt;
}

std::optional<GroupTimeoutAction> read_field_action(const json& config, FieldErrors& errors) {
  const FieldPath path = field_path().child("onTimeout");
  const json* value = find_path(config, {"onTimeout"});
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_string()) {
    errors.push_back(type_invalid(path, *value, "must be \"Fail\" or \"Suspend\""));
    return std::nullopt;
  }
  return check_action(path, value->get_ref<const std::string&>(), errors);
}

GroupStatement read_field(const json& job, const std::vector<std::string>& known, GroupReading& reading) {
  const json* config = find_path(job, {"spec", "groupSchedulingConfig"});
  if (config == nullptr || config->is_null()) return {};
  if (!config->is_object()) {
    reading.timeout_errors.push_back(type_invalid(field_path(), *config, "must be an object with timeoutAfterSeconds"));
    return {.present = true, .timeout_seconds = {}, .targets = {}, .on_timeout = {}};
  }
  return {.present = true,
          .timeout_seconds = read_field_timeout(*config, reading.timeout_errors),
          .targets = read_field_targets(*config, known, reading.target_errors),
          .on_timeout = read_field_action(*config, reading.timeout_errors)};
}

GroupStatement read_annotations(const JobKind& kind, const json& job, const std::vector<std::string>& known,
                                GroupReading& reading) {
  const auto timeout = annotation(job, kGroupTimeoutAnnotation);
  const auto targets = annotation(job, kGroupTargetsAnnotation);
  const auto action = annotation(job, kGroupOnTimeoutAnnotation);
  GroupStatement said;
  said.present = timeout.has_value() || targets.has_value() || action.has_value();
  if (timeout) said.timeout_seconds = read_annotation_timeout(*timeout, reading.timeout_errors);
  if (action) {
    said.on_timeout = check_action(annotation_path(kGroupOnTimeoutAnnotation), *action, reading.timeout_errors);
    if (!timeout && !targets && !reading.field.present) {
      reading.timeout_errors.push_back(required(annotation_path(kGroupTimeoutAnnotation),
                                                "an action alone makes no group: add the seconds that its pods may "
                                                "take to start, for example \"300\""));
    }
  }
  if (!targets) return said;
  if (!is_jobset(kind)) {
    reading.target_errors.push_back(forbidden(annotation_path(kGroupTargetsAnnotation),
                                              "a Job has no replicated jobs: all its pods are one group; remove it"));
    return said;
  }
  said.targets = read_annotation_targets(*targets, known, reading.target_errors);
  if (!timeout && !reading.field.present) {
    reading.timeout_errors.push_back(required(annotation_path(kGroupTimeoutAnnotation),
                                              "targets alone make no group: add the seconds that its pods may take "
                                              "to start, for example \"300\""));
  }
  return said;
}

// The same targets in any order; nullopt means all targets.
bool same_targets(const GroupStatement& a, const GroupStatement& b, const std::vector<std::string>& known) {
  auto resolved = [&](const GroupStatement& said) {
    const auto& names = said.targets ? *said.targets : known;
    return std::set<std::string>(names.begin(), names.end());
  };
  return resolved(a) == resolved(b);
}

FieldErrors compare(const GroupReading& reading, const std::vector<std::string>& known) {
  const GroupStatement& field = reading.field;
  const GroupStatement& annotations = reading.annotations;
  FieldErrors errors;
  if (!field.present) return errors;
  if (field.timeout_seconds && annotations.timeout_seconds && field.timeout_seconds != annotations.timeout_seconds) {
    errors.push_back(invalid(annotation_path(kGroupTimeoutAnnotation),
                             json(std::to_string(*annotations.timeout_seconds)),
                             "disagrees with spec.groupSchedulingConfig.timeoutAfterSeconds, which is " +
                                 std::to_string(*field.timeout_seconds) + "; keep one of the two"));
  }
  if (annotations.on_timeout && annotations.on_timeout != field.on_timeout.value_or(GroupTimeoutAction::kFail)) {
    const bool suspends = annotations.on_timeout == GroupTimeoutAction::kSuspend;
    errors.push_back(
        invalid(annotation_path(kGroupOnTimeoutAnnotation), json(suspends ? kGroupActionSuspend : kGroupActionFail),
                "disagrees with spec.groupSchedulingConfig.onTimeout, which is " +
                    std::string(suspends ? kGroupActionFail : kGroupActionSuspend) + "; keep one of the two"));
  }
  if (annotations.targets && !same_targets(field, annotations, known)) {
    std::string listed = field.targets ? quoted_list(*field.targets) : "empty and so means all";
    errors.push_back(invalid(annotation_path(kGroupTargetsAnnotation), json(*annotations.targets),
                             "disagrees with spec.groupSchedulingConfig.targetReplicatedJobs, which is " + listed +
                                 "; keep one of the two"));
  }
  return errors;
}

std::optional<size_t> find_in(const json& list, bool (*matches)(const json&)) {
  auto it = std::find_if(list.begin(), list.end(), matches);
  if (it == list.end()) return std::nullopt;
  return static_cast<size_t>(it - list.begin());
}

}  // namespace

std::string group_token(std::string_view owner_uid, std::string_view restart_attempt, std::string_view epoch) {
  std::string token(owner_uid);
  token.append("/").append(restart_attempt).append("/").append(epoch);
  return token;
}

std::string group_config_map_name(const JobKind& kind, std::string_view job_name) {
  return std::string(job_name).append(is_jobset(kind) ? "" : kSuffixOfJob).append(kGroupConfigMapSuffix);
}

std::vector<std::pair<const JobKind*, std::string>> owners_of_group_config_map(std::string_view config_map) {
  std::vector<std::pair<const JobKind*, std::string>> owners;
  if (!ends_with_barrier_suffix(config_map)) return owners;
  config_map.remove_suffix(kGroupConfigMapSuffix.size());
  const auto add = [&](const JobKind& kind, std::string_view suffix) {
    if (config_map.size() > suffix.size() && config_map.ends_with(suffix))
      owners.emplace_back(&kind, config_map.substr(0, config_map.size() - suffix.size()));
  };
  add(jobset, "");
  add(batch_job, kSuffixOfJob);
  add(batch_job, kOldSuffixOfJob);
  return owners;
}

bool is_group_config_map_of(const JobKind& kind, std::string_view job_name, std::string_view config_map) {
  const auto owners = owners_of_group_config_map(config_map);
  return std::any_of(owners.begin(), owners.end(),
                     [&](const auto& owner) { return owner.first == &kind && owner.second == job_name; });
}

GroupReading read_group_scheduling(const JobKind& kind, const json& job) {
  GroupReading reading;
  const std::vector<std::string> known = is_jobset(kind) ? replicated_job_names(job) : std::vector<std::string>{};
  // A Job's spec has no such field: the API server removes it.
  if (is_jobset(kind)) reading.field = read_field(job, known, reading);
  reading.annotations = read_annotations(kind, job, known, reading);
  reading.disagreements = compare(reading, known);
  return reading;
}

bool GroupConfig::has_target(std::string_view pod_set) const {
  return std::find(targets.begin(), targets.end(), pod_set) != targets.end();
}

std::optional<GroupConfig> group_config(const JobKind& kind, const json& job) {
  GroupReading reading = read_group_scheduling(kind, job);
  if (!reading.usable()) return std::nullopt;
  const auto& timeout = reading.field.present ? reading.field.timeout_seconds : reading.annotations.timeout_seconds;
  const auto& listed = reading.field.targets ? reading.field.targets : reading.annotations.targets;
  const auto& action = reading.field.present ? reading.field.on_timeout : reading.annotations.on_timeout;
  GroupConfig config{*timeout, {}, action.value_or(GroupTimeoutAction::kFail)};
  for (const ConstPodTemplateRef& ref : kind.read_pod_templates(job)) {
    std::string name(ref.name);
    if (!listed || std::find(listed->begin(), listed->end(), name) != listed->end()) config.targets.push_back(name);
  }
  for (const json& replicated : array_at(job, {"spec", "replicatedJobs"})) {
    if (config.has_target(string_at(replicated, {"name"})) && !array_at(replicated, {"dependsOn"}).empty())
      config.starts_in_parts = config.targets.size() > 1;
  }
  return config;
}

bool is_group_mount_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path == kGroupMountPath;
}

bool is_waiter(const json& container) {
  if (string_at(container, {"name"}) != kGroupInitContainer || !runs_waiter(container)) return false;
  const json& mounts = array_at(container, {"volumeMounts"});
  return std::any_of(mounts.begin(), mounts.end(), [](const json& mount) {
    return string_at(mount, {"name"}) == kGroupVolume && is_group_mount_path(string_at(mount, {"mountPath"}));
  });
}

bool is_barrier_volume(const json& volume) {
  return string_at(volume, {"name"}) == kGroupVolume && bool_at(volume, {"configMap", "optional"}) &&
         ends_with_barrier_suffix(string_at(volume, {"configMap", "name"}));
}

std::optional<size_t> find_waiter(const json& pod_template) {
  return find_in(array_at(pod_template, {"spec", "initContainers"}), is_waiter);
}

std::optional<size_t> find_barrier_volume(const json& pod_template) {
  return find_in(array_at(pod_template, {"spec", "volumes"}), is_barrier_volume);
}

json* make_template_list(json& pod_template, std::string_view key) {
  json* spec = make_object(pod_template, {"spec"});
  if (spec == nullptr) return nullptr;
  json& list = (*spec)[std::string(key)];
  if (list.is_null()) list = json::array();
  return list.is_array() ? &list : nullptr;
}

}  // namespace muster::jobs
