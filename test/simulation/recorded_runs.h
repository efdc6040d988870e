// Recordings of the processes of simulated worlds, in memory, and replays of them.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "engine/recording/reader.h"
#include "engine/recording/recorded_state.h"
#include "engine/recording/redaction.h"
#include "engine/recording/replay.h"
#include "test/world/world.h"

namespace muster::test {

// One life of a process.
struct RecordedRun {
  engine::EngineSettings settings;
  std::string text;
  std::string from_snapshot{};  // a second file, which begins at the batch that was asked for
};

class RunRecorder final : public engine::LoopObserver {
 public:
  // `snapshot_at`: after this many batches a second file begins; 0: never. `runs` must outlive it.
  RunRecorder(engine::EngineSettings settings, std::vector<std::shared_ptr<RecordedRun>>& runs, uint64_t snapshot_at)
      : settings_(std::move(settings)), runs_(runs), snapshot_at_(snapshot_at) {}

  std::string text_of(const ResourceType& type, const nlohmann::json& object) const override {
    return to_text(recording::redacted(type, object, close_));
  }
  void began() override {
    runs_.push_back(std::make_shared<RecordedRun>(RecordedRun{settings_, {}}));
    run_ = runs_.back();
    state_ = {};
    batches_ = 0;
  }
  void saw(engine::ObservedBatch batch) override {
    if (batches_++ == 0) run_->text = encoder_.begin(header(batch, false));
    run_->text += encoder_.batch(batch);
    if (snapshot_at_ == 0) return;
    state_.take(batch);
    if (batches_ > snapshot_at_) run_->from_snapshot += later_.batch(batch);
    if (batches_ != snapshot_at_) return;
    run_->from_snapshot = later_.begin(header(batch, true));
    run_->from_snapshot += later_.snapshot(state_.snapshot());
  }

 private:
  static recording::Header header(const engine::ObservedBatch& batch, bool from_snapshot) {
    return {.version = "test", .commit = "test", .began = batch.planned, .from_snapshot = from_snapshot};
  }

  const engine::EngineSettings settings_;
  std::vector<std::shared_ptr<RecordedRun>>& runs_;
  const uint64_t snapshot_at_;
  const recording::Close close_ = recording::keyed_hash("a key of this test");
  std::shared_ptr<RecordedRun> run_;
  recording::Encoder encoder_, later_;
  recording::RecordedState state_;
  uint64_t batches_ = 0;
};

// While it lives, every process of every world is recorded.
class RecordedRuns {
 public:
  explicit RecordedRuns(uint64_t snapshot_at = 0) {
    world::World::observer_maker() = [this, snapshot_at](const engine::EngineSettings& settings) {
      return std::make_unique<RunRecorder>(settings, runs_, snapshot_at);
    };
  }
  ~RecordedRuns() { world::World::observer_maker() = nullptr; }

  const std::vector<std::shared_ptr<RecordedRun>>& runs() const { return runs_; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& run : runs_) sum += run->text.size();
    return sum;
  }

 private:
  std::vector<std::shared_ptr<RecordedRun>> runs_;
};

inline recording::ReplayResult replayed(const std::string& text, const engine::EngineSettings& settings) {
  std::istringstream in(text);
  recording::Reader reader(in);
  const auto header = reader.header();
  REQUIRE_MESSAGE(header.ok(), header.error().message);
  recording::Replay replay(settings, 20);
  for (;;) {
    auto batch = reader.next();
    REQUIRE_MESSAGE(batch.ok(), batch.error().message);
    if (!*batch) break;
    replay.take(**batch);
  }
  CHECK(reader.torn() == "");
  return replay.finish();
}

inline std::string text_of(const recording::ReplayResult& result) {
  std::string text;
  for (const recording::Difference& each : result.differences) {
    text += "batch " + std::to_string(each.batch) + " " + each.object + "\n  then: " + each.recorded +
            "\n  now:  " + each.now + "\n  " + each.field + "\n";
  }
  return text;
}

// Of a run that ends before its first batch there is no text.
inline recording::ReplayCount check_equal(const RecordedRun& run) {
  if (run.text.empty()) return {};
  const recording::ReplayResult result = replayed(run.text, run.settings);
  const recording::ReplayCount total = result.total();
  INFO(text_of(result));
  CHECK(result.equal());
  CHECK(total.equal == total.recorded);
  CHECK(total.moved == 0);
  return total;
}

}  // namespace muster::test
