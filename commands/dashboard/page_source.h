// What the dashboard's page is filled with: lists and explanations, with the rights of the person who runs
// the command.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "commands/kubectl/lists.h"
#include "commands/kubectl/reader.h"

namespace muster::commands {

class PageSource {
 public:
  virtual ~PageSource() = default;
  virtual Result<FetchedList> list(const ListQuestion& question) = 0;
  // The JSON of api/explained.h.
  virtual Result<nlohmann::json> explain(const ObjectKey& key) = 0;
};

// Asks muster, or evaluates what the person can list. Answers are kept for a second, those that were found on
// this machine for five, so that ten tabs cost what one costs. Thread-safe; one question at a time.
class ClusterPageSource final : public PageSource {
 public:
  // `reader` and `clock` must outlive it.
  ClusterPageSource(MusterReader& reader, bool local, const Clock& clock)
      : reader_(reader), local_(local), clock_(clock) {}

  Result<FetchedList> list(const ListQuestion& question) override EXCLUDES(mutex_);
  Result<nlohmann::json> explain(const ObjectKey& key) override EXCLUDES(mutex_);

 private:
  struct Kept {
    Result<FetchedList> answer;
    MonotonicTime until;
  };

  Mutex mutex_;
  MusterReader& reader_ GUARDED_BY(mutex_);
  const bool local_;
  const Clock& clock_;
  std::map<std::string, Kept> kept_ GUARDED_BY(mutex_);
};

}  // namespace muster::commands
