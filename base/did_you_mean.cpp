#include "base/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace muster {
namespace {

constexpr size_t kLongestWord = 64;

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Optimal string alignment: the fewest single changes, where two swapped letters are one.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// One is the beginning of the other, as "cohort" of "cohortName".
bool continues(std::string_view a, std::string_view b) {
  constexpr size_t kShortest = 4;
  return std::min(a.size(), b.size()) >= kShortest && (a.starts_with(b) || b.starts_with(a));
}

// The single changes from one word to another, or to what is behind its last slash.
size_t changes_to(std::string_view wanted, std::string_view known) {
  if (continues(wanted, known)) return 1;
  const std::string_view tail = known.substr(known.rfind('/') + 1);
  return std::min(distance(wanted, known), distance(wanted, tail));
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongestWord) return "";
  const std::string wanted = lower(word);
  std::string nearest;
  // A third of the letters: beyond that, another word was meant.
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const size_t changes = changes_to(wanted, lower(candidate));
    if (changes >= best) continue;
    best = changes;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

}  // namespace muster
