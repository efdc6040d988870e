// Code for what the paths of a description cannot say of a kind, named in its row (`hook: ray`): pods that the kind's
// controller adds to a template, templates that are made of other fields, or of another object; and what a start and a
// stop edit then. Each file of kinds/hooks is a namespace with its name, which has one `extern const KindHook hook`;
// CMake makes the table. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "base/result.h"
#include "kinds/described_job.h"
#include "kinds/pod_set_info.h"

namespace muster {

struct ConsultedKind;

// The object of a kind that the description consults; nullptr: there is none, or it is not known yet.
using ConsultedLookup = std::function<const nlohmann::json*(const ConsultedKind& kind, std::string_view name)>;

struct KindHook {
  std::string_view name;
  // The description says nothing about pod sets.
  bool makes_pod_sets = false;
  // For messages about the pod templates; empty: the job holds them.
  std::string_view where_templates_come_from{};
  // After the description itself was read.
  void (*read)(const nlohmann::json& object, DescribedJob& job);
  // Optional: what other objects add. The job is read, and has no pod sets before.
  void (*consult)(const ConsultedLookup& find, DescribedJob& job) = nullptr;
  // Optional: pods of an object that quota cannot count.
  FieldErrors (*uncounted_pods)(const nlohmann::json& object) = nullptr;
  // Merge patches: see JobKind::own_start and own_restore. Both or none; none: starts and stops edit the pod templates.
  Result<nlohmann::json> (*start)(const DescribedJob& job, const std::vector<PodSetInfo>& infos) = nullptr;
  nlohmann::json (*restore)(const DescribedJob& job, const std::vector<PodSetInfo>& infos) = nullptr;
  // See JobKind.
  bool restores_once_inactive = false;
  bool shows_in_templates = true;
  // The annotations that this code reads, so that a recording keeps their values: whole keys, or domains with their
  // slash ("example.com/").
  std::span<const std::string_view> annotations{};
};

// Generated: those of kinds/hooks, ordered by name.
std::span<const KindHook* const> all_kind_hooks();
// nullptr: there is no hook of this name.
const KindHook* find_kind_hook(std::string_view name);
// "appwrapper, ray, ...", for messages.
std::string kind_hook_names();
// Whether the code of any kind reads this annotation.
bool is_read_by_kind_hook(std::string_view annotation);

}  // namespace muster
