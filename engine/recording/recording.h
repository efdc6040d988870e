// A recording: what one process's engine received, when, and what it asked for, as lines of text.
//
//   <checksum> <JSON>         FNV-1a of the JSON, 16 hexadecimal digits
//
// The first line is the header. Then, batch by batch: a line for each event, for each object of a list a line before
// that of the list, and one line that closes the batch. A process that dies leaves a last line or a last batch that
// is not whole; the reader ends before it and says so.
//
// Times are nanoseconds since the time before them: `t` of the monotonic clock, `w` how much further the wall clock
// went. They are exact, since decisions compare them.
//
// A file begins with a process, which knows nothing, or with a snapshot: the lists as they were when the file before
// it was full, leadership, and the writes that were under way.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/loop/loop_observer.h"

namespace muster::recording {

// Grows with each change that an older reader would misread.
inline constexpr int kFormat = 2;
inline constexpr std::string_view kMagic = "muster-recording";

struct Header {
  int format = kFormat;
  std::string version{}, commit{};  // of the muster that has recorded
  Now began{};
  bool from_snapshot = false;
  nlohmann::json settings{};  // what the engine's settings are made from; the owner's
};

// What the engine asked for. The strings of `body` that a recording does not keep are all the same: some of them
// were made from others.
struct RecordedWrite {
  uint64_t id = 0;
  reconcilers::Verb verb = reconcilers::Verb::kPatch;
  ObjectKey target;
  std::string uid{};
  nlohmann::json body{};
};
RecordedWrite recorded(const engine::Command& command);

// Of a kind: "jobs.batch"; "queuedpods", where a resource is watched more than once. Format 1 had no groups: "jobs".
std::string recorded_name(const ResourceType& type);

// The lines of one file. One thread.
class Encoder {
 public:
  // The first of a file.
  std::string begin(const Header& header);
  std::string batch(const engine::ObservedBatch& batch) { return lines_of(batch, false); }
  // The first batch of a file whose header says from_snapshot; its writes are those that are under way.
  std::string snapshot(const engine::ObservedBatch& batch) { return lines_of(batch, true); }

 private:
  std::string lines_of(const engine::ObservedBatch& batch, bool snapshot);
  void add_event(const engine::ObservedEvent& event, std::string& lines);
  // ,"t":...,"w":...
  std::string time(Now now);

  Now last_{};
  uint64_t batches_ = 0;
};

// A line with its checksum and line break.
std::string line_of(std::string_view json_text);

}  // namespace muster::recording
