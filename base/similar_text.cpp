#include "base/similar_text.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Names are short; the text of a stranger need not be, and the comparison takes the product of both.
constexpr size_t kLongestName = 128;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Levenshtein's distance, row by row.
size_t changes_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j + 1] + 1, row[j] + 1}));
    }
  }
  return row.back();
}

// "rayjob" for "ray.io/rayjob".
std::string_view after_slash(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

}  // namespace

std::optional<std::string_view> most_similar(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestName) return std::nullopt;
  std::optional<std::string_view> best;
  size_t fewest = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t changes = std::min(changes_between(word, candidate), changes_between(word, after_slash(candidate)));
    if (changes >= fewest) continue;
    fewest = changes;
    best = candidate;
  }
  return best;
}

}  // namespace muster
