// Label selectors as people write them: "team=a,tier in (gold,silver),!debug". Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "api/meta/selectors.h"
#include "base/result.h"

namespace muster {

// Bytes of such a text.
inline constexpr size_t kLongestSelectorText = 1024;

// a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a, a>1, a<1; several with commas between, all of which must match.
// As in Kubernetes, a!=b and notin match objects without the label, and an empty text matches all. Source: apimachinery
// pkg/labels, Parse.
Result<std::vector<LabelRequirement>> parse_selector_text(std::string_view text);
bool matches_all(const std::vector<LabelRequirement>& requirements, const Labels& labels);

}  // namespace muster
