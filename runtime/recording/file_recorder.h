// `muster serve --record FILE`: writes down what the engine receives and what it asks for
// (engine/recording/recording.h).
//
// Nothing of it can hold the engine up or stop it: watches' threads make the texts of objects, the engine's thread
// hands a batch over, a separate thread writes. When the file cannot be written, or the disk does not keep up, the
// recording ends, with one line in the log and muster_recording at 0, and the engine goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "engine/recording/recorded_state.h"
#include "engine/recording/recording.h"
#include "engine/recording/redaction.h"
#include "runtime/recording/recording_file.h"

namespace muster::runtime {

struct RecordingOptions {
  static constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

  std::string file;
  uint64_t limit = kDefaultLimit;  // of FILE, and of FILE.1, in bytes
  nlohmann::json settings{};       // see runtime/recording/recorded_settings.h
};

// A quantity of bytes: "256Mi", at least 1Mi.
Result<uint64_t> parse_recording_limit(std::string_view text);

class FileRecorder final : public engine::LoopObserver {
 public:
  // Texts that wait to be written; more of them, and the disk does not keep up.
  static constexpr uint64_t kMostWaiting = uint64_t{256} << 20;

  struct Callbacks {
    // Whether it records, at its beginning and at its end. Any thread.
    std::function<void(bool)> recording;
    // Why it does not any more; once.
    std::function<void(const std::string& why)> ended;
  };

  // Begins the file at once; an error ends the recording, as one later does.
  FileRecorder(RecordingOptions options, Callbacks callbacks, uint64_t most_waiting = kMostWaiting);
  ~FileRecorder() override { stop(); }
  FileRecorder(const FileRecorder&) = delete;
  FileRecorder& operator=(const FileRecorder&) = delete;

  std::string text_of(const ResourceType& type, const nlohmann::json& object) const override;
  void began() override {}
  void saw(engine::ObservedBatch batch) override EXCLUDES(mutex_);

  // Writes what waits and ends the thread. More than once is as once.
  void stop() EXCLUDES(mutex_);

 private:
  void run() EXCLUDES(mutex_);
  Outcome<> write(const engine::ObservedBatch& batch);
  Outcome<> rotate(Now now);
  recording::Header header(Now now, bool from_snapshot) const;
  void end(const std::string& why) EXCLUDES(mutex_);

  const RecordingOptions options_;
  const Callbacks callbacks_;
  const uint64_t most_waiting_;
  const recording::Close close_;
  std::atomic<bool> records_ = true;

  // Of the thread.
  RecordingFile file_;
  recording::Encoder encoder_;
  recording::RecordedState state_;
  bool has_header_ = false;

  Mutex mutex_;
  CondVar changed_;
  std::deque<engine::ObservedBatch> waiting_ GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool told_end_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::runtime
