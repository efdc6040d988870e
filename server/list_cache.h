// Answers of lists as text, for readers who ask the same of the same snapshot: 500 pages that are open make one list a
// second and not 250. Who can read it is asked before, for each.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "api/start_estimate.h"
#include "base/mutex.h"
#include "explain/lists/queue_snapshot.h"

namespace muster::server {

// Thread-safe. Answers of one snapshot and one set of estimates; others make it forget them. It keeps no snapshot
// alive.
class ListCache {
 public:
  // What is over it is not kept.
  static constexpr size_t kMostBytes = 4UL * 1024 * 1024;

  using Snapshot = std::shared_ptr<const explain::QueueSnapshot>;
  using Starts = std::shared_ptr<const StartEstimates>;

  // null: it was not asked yet. `question` is all that the answer depends on beside the two others.
  std::shared_ptr<const std::string> find(const Snapshot& snapshot, const Starts& starts, const std::string& question)
      EXCLUDES(mutex_);
  void keep(const Snapshot& snapshot, const Starts& starts, const std::string& question, std::string answer)
      EXCLUDES(mutex_);

 private:
  bool is_of(const Snapshot& snapshot, const Starts& starts) const REQUIRES(mutex_);

  Mutex mutex_;
  std::weak_ptr<const explain::QueueSnapshot> snapshot_ GUARDED_BY(mutex_);
  std::weak_ptr<const StartEstimates> starts_ GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const std::string>> answers_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::server
