// Who submitted a job: the user of the request that put it into a queue, as the webhook saw that request. The mutator
// record_submitter writes the annotation on jobs where the setting recordSubmitter asks for it, and removes it when a
// user writes it, with the setting or without; the rule workload_submitter guards that of Workloads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace muster {

// Of jobs, and of their Workloads, so that lists need no other object.
inline constexpr std::string_view kSubmitterAnnotation = "muster.batch/submitter";

// Bytes. A longer name is not recorded: a part of it could be another user's name.
inline constexpr size_t kLongestSubmitter = 256;

// Whether a user of this name is recorded: names with control characters (C0, DEL, C1) are not.
inline bool is_recorded_name(std::string_view name) {
  const auto byte = [](char letter) { return static_cast<unsigned char>(letter); };
  const bool plain =
      std::none_of(name.begin(), name.end(), [&](char letter) { return byte(letter) < 0x20 || byte(letter) == 0x7f; });
  const bool has_c1 = std::adjacent_find(name.begin(), name.end(), [&](char first, char second) {
                        return byte(first) == 0xc2 && byte(second) < 0xa0;
                      }) != name.end();
  return !name.empty() && name.size() <= kLongestSubmitter && plain && !has_c1;
}

}  // namespace muster
