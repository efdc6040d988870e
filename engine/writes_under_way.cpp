#include "engine/writes_under_way.h"

#include <algorithm>
#include <utility>

namespace muster::engine {
namespace {

constexpr size_t kShares = 16;

}  // namespace

WriteUnderWay under_way(std::optional<ObjectKey> request, reconcilers::Write& write, uint64_t version, bool admits,
                        MonotonicTime now) {
  return {.request = std::move(request),
          .verb = write.verb,
          .target = write.target,
          .uid = write.uid,
          .version = version,
          .events = std::exchange(write.events, {}),
          .measurements = std::exchange(write.measurements, {}),
          .decisions = std::exchange(write.decisions, {}),
          .refusal = std::exchange(write.refusal, std::nullopt),
          .maker = write.maker,
          .gives_way = write.gives_way,
          .rest = write.rest,
          .admits = admits,
          .since = now};
}

uint64_t WritesUnderWay::start(WriteUnderWay write) {
  const uint64_t id = ++last_id_;
  if (write.request) ++in_namespace_[write.request->ns];
  if (write.admits) ++admissions_;
  writes_.emplace(id, std::move(write));
  return id;
}

std::optional<WriteUnderWay> WritesUnderWay::finish(uint64_t id) {
  const auto found = writes_.find(id);
  if (found == writes_.end()) return std::nullopt;
  WriteUnderWay write = std::move(found->second);
  writes_.erase(found);
  if (write.admits) --admissions_;
  if (!write.request) return write;
  const auto count = in_namespace_.find(write.request->ns);
  if (--count->second == 0) in_namespace_.erase(count);
  return write;
}

size_t WritesUnderWay::room() const {
  return most_ - std::min(most_, writes_.size());
}

size_t WritesUnderWay::room_for_admissions() const {
  return most_admissions_ - std::min(most_admissions_, admissions_);
}

bool WritesUnderWay::has_share(std::string_view ns, size_t planned) const {
  const auto found = in_namespace_.find(ns);
  return planned + (found == in_namespace_.end() ? 0 : found->second) < most_ / kShares;
}

std::vector<ObjectKey> WritesUnderWay::requests() const {
  std::vector<ObjectKey> requests;
  for (const auto& [id, write] : writes_) {
    if (write.request) requests.push_back(*write.request);
  }
  return requests;
}

}  // namespace muster::engine
