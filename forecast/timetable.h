// What is to happen, by time; what was planned first happens first.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace muster::forecast {

enum class Due : uint8_t { kReady, kEnd, kStopped, kChecks, kWake };

struct DueEvent {
  int64_t at;  // ns since the start
  uint64_t order;
  uint32_t job;
  uint32_t epoch;  // of the job when it was planned; another one now: it does not happen
  Due what;

  bool operator>(const DueEvent& other) const { return at != other.at ? at > other.at : order > other.order; }
};

class Timetable {
 public:
  void plan(int64_t at, uint32_t job, uint32_t epoch, Due what) { events_.push({at, ++last_, job, epoch, what}); }
  bool empty() const { return events_.empty(); }
  int64_t next() const { return events_.top().at; }
  DueEvent take() {
    const DueEvent event = events_.top();
    events_.pop();
    return event;
  }

 private:
  std::priority_queue<DueEvent, std::vector<DueEvent>, std::greater<>> events_;
  uint64_t last_ = 0;
};

}  // namespace muster::forecast
