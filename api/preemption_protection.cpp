#include "api/preemption_protection.h"

#include <algorithm>

#include "api/meta/constants.h"
#include "api/meta/time.h"

namespace muster {
namespace {

std::optional<Duration> read_length(const ObjectMeta& meta, std::string_view annotation) {
  const std::string_view text = meta.annotation(annotation);
  const auto length = parse_duration(text);
  if (text.empty() || !length || *length < Duration::zero()) return std::nullopt;
  return std::min(*length, kLongestProtection);
}

}  // namespace

PreemptionProtection read_preemption_protection(const ObjectMeta& meta) {
  return {.in_queue = read_length(meta, kPreemptionProtectionAnnotation),
          .reclaim = read_length(meta, kReclaimProtectionAnnotation),
          .limit = read_length(meta, kPreemptionProtectionLimitAnnotation)};
}

}  // namespace muster
