#include "jobs/admission_gates.h"

namespace muster::jobs {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::vector<std::string_view> admission_gates_in(std::string_view annotation) {
  std::vector<std::string_view> gates;
  while (!annotation.empty()) {
    const size_t comma = annotation.find(',');
    gates.push_back(trimmed(annotation.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    annotation.remove_prefix(comma + 1);
    if (annotation.empty()) gates.push_back({});
  }
  return gates;
}

}  // namespace muster::jobs
