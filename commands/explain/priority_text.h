// The answer of `muster priority` for people.
#pragma once

#include <string>

#include "api/explained.h"

namespace muster::commands {

std::string priority_text(const ExplainReply& explained);

}  // namespace muster::commands
