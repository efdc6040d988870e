// The writes that were handed out and are not answered yet, and how many more there can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/measurement.h"
#include "api/meta/object_event.h"
#include "base/clock.h"
#include "kinds/typed_object.h"
#include "reconcilers/command.h"
#include "state/write_pauses.h"

namespace muster::engine {

struct WriteUnderWay {
  std::optional<ObjectKey> request;  // nullopt: of the webhook configurations
  reconcilers::Verb verb;
  ObjectKey target;
  std::string uid;
  uint64_t version;  // of the target when the write was planned; 0: it was not known
  // For when it is done.
  std::vector<ObjectEvent> events;
  std::vector<Measurement> measurements;
  std::vector<LoggedDecision> decisions;
  std::optional<ObjectEvent> refusal;
  std::optional<state::Maker> maker;
  bool gives_way;
  Duration rest;
  bool admits;  // a Workload
  MonotonicTime since;
};
// What `write` leaves with the engine until it is answered: its events, measurements, decisions and refusal are moved.
WriteUnderWay under_way(std::optional<ObjectKey> request, reconcilers::Write& write, uint64_t version, bool admits,
                        MonotonicTime now);

// Not thread-safe.
class WritesUnderWay {
 public:
  // The limits are those of EngineSettings.
  WritesUnderWay(size_t most_admissions, size_t most) : most_admissions_(most_admissions), most_(most) {}

  // Returns its id, the Command's.
  uint64_t start(WriteUnderWay write);
  // nullopt: there is none with this id.
  std::optional<WriteUnderWay> finish(uint64_t id);

  size_t size() const { return writes_.size(); }
  size_t admissions() const { return admissions_; }
  size_t room() const;
  size_t room_for_admissions() const;
  // Whether this namespace has less than its share under way, which it can have whatever the others have; `planned`
  // are further writes.
  bool has_share(std::string_view ns, size_t planned) const;
  // Their requests, by id.
  std::vector<ObjectKey> requests() const;

 private:
  const size_t most_admissions_, most_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, WriteUnderWay> writes_;
  std::map<std::string, size_t, std::less<>> in_namespace_;  // of the request
  size_t admissions_ = 0;
};

}  // namespace muster::engine
