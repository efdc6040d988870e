#include "runtime/recording/file_recorder.h"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "runtime/version.h"

namespace muster::runtime {
namespace {

// 256 bits that are in no file and are lost with the process. Empty: no random numbers are available.
recording::Close make_close() {
  std::string key(32, '\0');
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) return {};
  return recording::keyed_hash(std::move(key));
}

uint64_t bytes_of(const engine::ObservedBatch& batch) {
  uint64_t bytes = 0;
  for (const engine::ObservedEvent& event : batch.events) {
    bytes += 200;
    if (!event.texts) continue;
    for (const std::string& text : *event.texts) bytes += text.size();
  }
  return bytes + 2000 * batch.writes.size();
}

}  // namespace

Result<uint64_t> parse_recording_limit(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  if (!quantity) return fail("\"" + std::string(text) + "\" is no size; write it as 256Mi or 1Gi");
  const int64_t bytes = quantity->saturating_value();
  if (bytes < int64_t{1} << 20) return fail("must be at least 1Mi");
  return static_cast<uint64_t>(bytes);
}

FileRecorder::FileRecorder(RecordingOptions options, Callbacks callbacks, uint64_t most_waiting)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      most_waiting_(most_waiting),
      close_(make_close()),
      file_(options_.file) {
  if (!close_) {
    end("there are no random numbers for its key");
    return;
  }
  if (auto begun = file_.begin(); !begun) {
    end(begun.error().message);
    return;
  }
  callbacks_.recording(true);
  thread_ = std::thread([this] { run(); });
}

std::string FileRecorder::text_of(const ResourceType& type, const nlohmann::json& object) const {
  return records_ ? to_text(recording::redacted(type, object, close_)) : std::string();
}

void FileRecorder::saw(engine::ObservedBatch batch) {
  if (!records_) return;
  // The message of the API server can quote a text of a user.
  for (engine::ObservedEvent& event : batch.events) {
    if (event.what == engine::ObservedEvent::What::kAnswer && !event.text.empty()) event.text = close_(event.text);
  }
  const uint64_t bytes = bytes_of(batch);
  bool too_much = false;
  {
    MutexLock lock(mutex_);
    too_much = waiting_bytes_ + bytes > most_waiting_;
    if (!too_much) {
      waiting_bytes_ += bytes;
      waiting_.push_back(std::move(batch));
    }
  }
  if (too_much)
    end("the disk does not keep up: more than " + std::to_string(most_waiting_) + " bytes wait to be written");
  changed_.notify_one();
}

void FileRecorder::end(const std::string& why) {
  records_ = false;
  {
    MutexLock lock(mutex_);
    waiting_.clear();
    waiting_bytes_ = 0;
    if (std::exchange(told_end_, true)) return;
  }
  callbacks_.recording(false);
  callbacks_.ended(why);
}

void FileRecorder::stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void FileRecorder::run() {
  pthread_setname_np(pthread_self(), "recorder");
  for (;;) {
    std::deque<engine::ObservedBatch> batches;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) changed_.wait(mutex_);
      if (waiting_.empty()) return;
      batches.swap(waiting_);
    }
    for (const engine::ObservedBatch& batch : batches) {
      if (!records_) break;
      if (auto written = write(batch); !written) end(written.error().message);
      MutexLock lock(mutex_);
      waiting_bytes_ -= std::min(waiting_bytes_, bytes_of(batch));
    }
    if (!records_) file_.close();
  }
}

recording::Header FileRecorder::header(Now now, bool from_snapshot) const {
  return {.version = std::string(kVersion),
          .commit = std::string(kCommit),
          .began = now,
          .from_snapshot = from_snapshot,
          .settings = options_.settings};
}

Outcome<> FileRecorder::rotate(Now now) {
  if (auto begun = file_.begin(); !begun) return begun;
  std::string lines = encoder_.begin(header(now, true));
  lines += encoder_.snapshot(state_.snapshot());
  return file_.append(lines);
}

Outcome<> FileRecorder::write(const engine::ObservedBatch& batch) {
  if (!std::exchange(has_header_, true)) {
    const Now first = batch.events.empty() ? batch.planned : batch.events.front().at;
    if (auto written = file_.append(encoder_.begin(header(first, false))); !written) return written;
  }
  const auto too_large = [&] {
    return fail("the lists of this cluster alone do not fit into " + std::to_string(options_.limit) +
                " bytes: raise --record-limit");
  };
  recording::Encoder before = encoder_;
  std::string lines = encoder_.batch(batch);
  if (file_.size() + lines.size() > options_.limit) {
    encoder_ = before;
    if (state_.empty()) return too_large();
    if (auto rotated = rotate(batch.planned); !rotated) return rotated;
    lines = encoder_.batch(batch);
    if (file_.size() + lines.size() > options_.limit) return too_large();
  }
  state_.take(batch);
  return file_.append(lines);
}

}  // namespace muster::runtime
