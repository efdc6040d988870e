// Reads a recording line by line, and trusts none of it: each line has a limit before it is read, a checksum before it
// is parsed, and fields with checks.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/recording/recording.h"

namespace muster::recording {

struct Batch {
  uint64_t number = 0;  // from 1
  bool snapshot = false;
  std::vector<std::pair<engine::Event, Now>> events{};
  Now planned{};
  // What the engine asked for; of a snapshot, what was under way.
  std::vector<RecordedWrite> writes{};
};

// One thread. Kinds that the recording's configuration describes must have been installed.
class Reader {
 public:
  // Longer than any object of an API server and any batch of writes.
  static constexpr size_t kLongestLine = size_t{64} << 20;

  // `in` must outlive it.
  explicit Reader(std::istream& in, size_t longest_line = kLongestLine) : in_(in), longest_line_(longest_line) {}

  // First. The error says why the file is no recording, or none that this muster can read.
  Result<Header> header();
  // nullopt: the end; torn() says whether it is the one that was meant. The error: the file is damaged before
  // its end, and what follows cannot be trusted.
  Result<std::optional<Batch>> next();
  // Why the recording ends early: the process ended within a line or within a batch. Empty: it does not.
  const std::string& torn() const { return torn_; }
  uint64_t bytes() const { return bytes_; }

 private:
  enum class Line { kWhole, kEnd, kTorn };
  struct Pending {
    Batch batch{};
    std::vector<nlohmann::json> items{};  // of the list that comes next
    uint64_t lines = 0;
  };

  Result<Line> read_line(nlohmann::json& into);
  Result<Line> unwrap(const std::string& line, bool ended, nlohmann::json& into);
  Outcome<> add(const nlohmann::json& line, Pending& pending);
  Result<engine::Event> read_event(const nlohmann::json& line, Pending& pending);
  Outcome<> close(const nlohmann::json& line, Batch& batch);
  Now time(const nlohmann::json& line);
  Failure<Error> damaged(const std::string& why) const;

  std::istream& in_;
  const size_t longest_line_;
  uint64_t lines_ = 0, bytes_ = 0, batches_ = 0;
  Now last_{};
  std::string torn_;
};

}  // namespace muster::recording
