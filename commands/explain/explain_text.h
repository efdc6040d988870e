// The answer of `muster explain` for people: what it is in the first line, the rest below.
#pragma once

#include <string>

#include "api/explained.h"

namespace muster::commands {

std::string explain_text(const ExplainReply& explained);
// What has happened to it, all of it, one moment in a line.
std::string history_text(const ExplainReply& explained);

}  // namespace muster::commands
