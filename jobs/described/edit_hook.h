// What a start and a stop edit of kinds whose pod templates are made of other fields: the other half of a hook
// (kinds/kind_hook.h), by the same name. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/pod_set_info.h"
#include "kinds/described_job.h"

namespace muster::jobs {

struct EditHook {
  std::string_view name;
  // Merge patches: see JobKind::own_start and own_restore.
  Result<nlohmann::json> (*start)(const DescribedJob& job, const std::vector<PodSetInfo>& infos);
  nlohmann::json (*restore)(const DescribedJob& job, const std::vector<PodSetInfo>& infos);
  // See JobKind.
  bool restores_once_inactive = false;
  bool shows_in_templates = true;
};

// nullptr: starts and stops edit the pod templates.
const EditHook* find_edit_hook(std::string_view name);

extern const EditHook spark_edits;
extern const EditHook appwrapper_edits;
extern const EditHook trainjob_edits;

}  // namespace muster::jobs
