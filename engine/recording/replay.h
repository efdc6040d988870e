// Decides over a recording once more, and compares: the same LoopCore that `serve` drives gets the recorded batches at
// the recorded times.
//
// Where nothing differs, the two runs are the same event by event. Where a decision differs the recording goes on as
// it was: its objects, its answers. What this engine asks for and the recorded one did not is answered with a conflict,
// as by an API server where another writer was first, so that it decides again from what the recording shows; one
// difference does not make everything after it different.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/loop_core.h"
#include "engine/recording/decision.h"
#include "engine/recording/reader.h"

namespace muster::recording {

struct Difference {
  TimePoint at{};
  uint64_t batch = 0;
  std::string object;     // "workloads/team-a/job-train-1a2b3"
  std::string recorded;   // what was decided then; "nothing"
  std::string now;        // what this muster decides
  std::string field{};    // where the first of both differ
  bool settling = false;  // see ReplayResult::settling
  uint64_t times = 1;     // it was found again
};

struct ReplayCount {
  uint64_t recorded = 0;
  uint64_t equal = 0;      // at the same place; or moved by less than Replay::kLate
  uint64_t moved = 0;      // of these
  uint64_t words = 0;      // differ in messages only
  uint64_t different = 0;  // another decision, or none
  uint64_t added = 0;      // no such one was recorded
};

struct ReplayResult {
  uint64_t batches = 0, events = 0, objects = 0;
  TimePoint first{}, last{};
  std::map<DecisionKind, ReplayCount> kinds{};
  // Differences of the first Replay::kSettling after a snapshot, which does not hold what the engine had in mind:
  // delays, and which reports it had sent. They do not count.
  uint64_t settling = 0;
  std::vector<Difference> differences{};  // the first ones, each once
  uint64_t more = 0;                      // distinct ones that are not in the list

  ReplayCount total() const;
  bool equal() const { return total().different == 0 && total().added == 0; }
};

// One thread.
class Replay {
 public:
  static constexpr Duration kLate = std::chrono::seconds(10);
  static constexpr Duration kSettling = std::chrono::seconds(60);

  // `settings`: as the recorded engine had them, or others, to see what these change.
  Replay(engine::EngineSettings settings, size_t most_differences);

  void take(const Batch& batch);
  ReplayResult finish();

 private:
  struct Open {
    RecordedWrite write;
    uint64_t batch;
    Now at;
    DecisionKind kind;
    std::string text;
    bool settling;
    bool silent = false;  // was under way at a snapshot: no report of it
    std::optional<engine::WriteFinished> answer{};
  };

  void apply(const Batch& batch);
  void answer(engine::WriteFinished finished, Now at);
  void match(const Batch& batch, std::vector<RecordedWrite> made);
  void settle(const Open& recorded, const RecordedWrite& now, bool moved);
  void expire(const Batch& batch, bool all);
  Open open(const RecordedWrite& write, const Batch& batch) const;
  const TypedObject* before(const RecordedWrite& write) const;
  bool is_settling(Now now) const { return settles_until_ && now.monotonic < *settles_until_; }
  void note(Difference difference);

  engine::LoopCore core_;
  const size_t most_differences_;
  ReplayResult result_;
  std::map<uint64_t, uint64_t> ids_;         // of writes that await answers: recorded, now
  std::vector<Open> missing_;                // recorded, and not made now
  std::vector<Open> added_;                  // made now, and not recorded
  std::vector<engine::WriteFinished> owed_;  // answers for the next batch
  std::map<std::string, size_t> noted_;      // differences, by their texts; where they are in the list
  std::optional<MonotonicTime> settles_until_{};
};

}  // namespace muster::recording
