// The answer of `muster explain` for people: what it is in the first line, the rest below.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "api/explained.h"

namespace muster::commands {

std::string explain_text(const ExplainReply& explained);
// For `--watch`: whether the answer differs from the last one in its headline, or muster is down or up again; and then
// the time and the headline.
bool is_news(const ExplainReply& last, const ExplainReply& explained);
std::string news_text(const ExplainReply& explained);
// What has happened to it, all of it, one moment in a line.
std::string history_text(const ExplainReply& explained);
// The same for programs: `moments`.
nlohmann::json history_json(const ExplainReply& explained);

// Some fields of the answer for programs, with those that every answer has: whom it is about, whether there is such an
// object, when it was asked, the notes, and `alarm` while no replica leads.
nlohmann::json parts_of(const ExplainReply& explained, const std::set<std::string_view>& fields);

}  // namespace muster::commands
