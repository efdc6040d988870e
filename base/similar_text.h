// Which known name somebody most likely meant: for "did you mean" in messages.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace muster {

// The candidate that `word` becomes with the fewest letters changed, added or taken away, upper and
// lower case alike; one that ends with "/" and the word counts as the word. nullopt when more than a
// third of the word would have to change, or the word is longer than any name. The first of equals.
std::optional<std::string_view> most_similar(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace muster
