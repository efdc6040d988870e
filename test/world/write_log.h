// The writes of muster that the API server of a World was asked for: how many of which kind, and the last ones as text.
// One thread.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "reconcilers/command.h"
#include "test/world/api_server.h"

namespace muster::world {

// Of one kind of object, or of all.
struct WriteCounts {
  int create = 0;
  int patch = 0;
  int patch_status = 0;
  int remove = 0;
  int conflicts = 0;  // of these

  int all() const { return create + patch + patch_status + remove; }
};

class WriteLog {
 public:
  // `elapsed`: since the start of the world.
  void add(Duration elapsed, int replica, const reconcilers::Write& write, const Answer& answer);

  WriteCounts counts() const;
  WriteCounts counts(const ResourceType& type) const;
  // A line for each of the last writes, in order, with its time.
  std::string text() const;

 private:
  struct Line {
    Duration at;
    std::string text;
  };
  std::map<KindId, WriteCounts> counts_;
  std::deque<Line> last_;
};

}  // namespace muster::world
