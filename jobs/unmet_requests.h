// Whether a job asks for what muster cannot give (api/texts/unmet_requests.h): it would wait for ever.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/rule_settings.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

struct UnmetRequest {
  std::string place;  // "spec.template.spec.resourceClaims"
  std::string_view problem;
};

// At most one of each sort for each pod template of the object.
std::vector<UnmetRequest> unmet_requests_of(const RuleSettings& settings, const JobKind& kind,
                                            const nlohmann::json& object);

}  // namespace muster::jobs
