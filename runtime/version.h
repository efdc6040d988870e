// What this build is; set by CMake from project(VERSION) and the commit.
#pragma once

#include <string>
#include <string_view>

namespace muster::runtime {

inline constexpr std::string_view kVersion = MUSTER_VERSION;
extern const std::string_view kCommit;  // short hash, or "unknown"

// "muster 0.1.0 (abc1234)", with the libraries it runs on, one per line.
std::string version_text();

}  // namespace muster::runtime
