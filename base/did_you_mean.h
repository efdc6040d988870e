// The known word that a misspelt word probably means. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster {

// The nearest of `known`, by the number of letters that are missing, added, wrong or swapped; upper and
// lower case are alike. The beginning of a word, a word with more behind it, and the part behind the last
// slash ("rayjob" of "ray.io/rayjob") are near. Empty when none is near, and for words of more than 64 bytes.
std::string nearest_word(std::string_view word, std::span<const std::string> known);

// "; did you mean "serve"?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace muster
