// Waits for changes in one directory: by inotify, and by looking again within 10 s where that
// does not work (network file systems).
//
// One thread waits; only wake() can be called from others.
#pragma once

#include <filesystem>

#include "base/clock.h"

namespace muster::certs {

inline constexpr Duration kDirectoryPoll = std::chrono::seconds(10);

class DirectoryEvents {
 public:
  // The directory can be missing still.
  explicit DirectoryEvents(std::filesystem::path directory);
  ~DirectoryEvents();
  DirectoryEvents(const DirectoryEvents&) = delete;
  DirectoryEvents& operator=(const DirectoryEvents&) = delete;

  // Before each reading: finds the directory again, since it can be a new one. What changes
  // after it ends the next wait().
  void watch();

  // Blocks until something in the directory has changed, wake() is called, or `limit` has
  // passed. Can return early.
  void wait(Duration limit = kDirectoryPoll);
  // Ends the present or the next wait(). Thread-safe.
  void wake();

  const std::filesystem::path& directory() const { return directory_; }

 private:
  const std::filesystem::path directory_;
  const int inotify_;
  const int wake_;  // an eventfd
  int watched_ = -1;
};

}  // namespace muster::certs
