#include "jobs/workload_name.h"

#include <algorithm>
#include <initializer_list>

#include "base/ascii.h"
#include "base/encoding.h"

namespace muster::jobs {
namespace {

constexpr size_t kHashLength = 5;

std::string hash_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view& part : parts) {
    if (&part != parts.begin()) text += '\n';
    text += part;
  }
  return sha1_hex(text).substr(0, kHashLength);
}

std::string with_hash(std::string prefix, std::string_view hash, size_t max_length) {
  prefix.resize(std::min(prefix.size(), max_length - kHashLength - 1));
  return prefix.append("-").append(hash);
}

// "job-train".
std::string readable_part(const WorkloadOwner& owner) {
  return in_small_letters(owner.kind).append("-").append(owner.name);
}

}  // namespace

size_t max_workload_name(const RuleSettings& settings) {
  return settings.enabled(Gate::kShortWorkloadNames) ? 63 : 253;
}

std::string workload_name(const WorkloadOwner& owner, std::string_view extra, size_t max_length) {
  const std::string hash = extra.empty() ? hash_of({owner.kind, owner.group, owner.name, owner.uid})
                                         : hash_of({owner.kind, owner.group, owner.name, owner.uid, extra});
  return with_hash(readable_part(owner), hash, max_length);
}

}  // namespace muster::jobs
