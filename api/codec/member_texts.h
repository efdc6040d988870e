// The members of an object as texts, read from the text of the object: a pod spec can be as large as an object can be,
// and most questions are about a few of its fields.
#pragma once

#include <functional>
#include <string_view>

namespace muster {

// Visits the members in order. `object` is what to_text() makes of an object; of other text nothing is promised but an
// end. Names are as written, with escapes.
using VisitMember = std::function<void(std::string_view name, std::string_view value)>;
void for_each_member(std::string_view object, const VisitMember& visit);

}  // namespace muster
