// A small file that another process replaces: read again only when it has changed.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string_view>

namespace muster::wait {

// Not thread-safe. Its buffer is as large as a ConfigMap can be, but only the pages
// that a file fills are ever touched; keep it in static storage.
class WatchedFile {
 public:
  // What the file holds now, empty when there is none or it cannot be read. The view
  // lives until the next call. One stat(2) when nothing changed; the kubelet publishes
  // a new version under a new inode by swapping a symbolic link, and `force` reads even
  // if a writer in place kept size and time stamp.
  std::string_view read(const char* path, bool force);

 private:
  struct stat seen_ {};
  size_t size_ = 0;
  char content_[1 << 20];
};

}  // namespace muster::wait
