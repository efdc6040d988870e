// The answer of `muster priority` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/explained.h"

namespace muster::commands {

std::string priority_text(const ExplainReply& explained);
// The same for programs; `order` is null for an object that is not pending.
nlohmann::json priority_json(const ExplainReply& explained);

}  // namespace muster::commands
