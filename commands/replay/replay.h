// `muster simulate --replay FILE`: decides over a recording of `muster serve --record` once more, and compares.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "commands/review/review.h"
#include "engine/recording/replay.h"

namespace muster::commands {

enum class ReplayFormat { kTable, kJson, kYaml };

struct ReplayOptions {
  std::string file;           // "-": standard input
  std::string config_file{};  // instead of the recorded configuration; empty: that one
  size_t most_differences = 20;
  ReplayFormat format = ReplayFormat::kTable;
};

// Exit codes, part of the interface that scripts rely on.
inline constexpr int kReplayEqual = 0;       // the same decisions
inline constexpr int kReplayDifferent = 1;   // at least one is different
inline constexpr int kReplayUnreadable = 2;  // the recording or the options cannot be used; nothing is printed on `out`

int replay(const ReplayOptions& options, ReviewStreams streams);

// Of a replay, for the output.
struct ReplayReport {
  recording::Header header;
  recording::ReplayResult result;
  std::string torn{};  // Reader::torn()
  uint64_t bytes = 0;
};
std::string replay_table(const ReplayReport& report);
nlohmann::json replay_json(const ReplayReport& report);

}  // namespace muster::commands
