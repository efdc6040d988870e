#include "commands/wait/watched_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace muster::wait {
namespace {

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

std::string_view WatchedFile::read(const char* path, bool force) {
  struct stat now {};
  if (::stat(path, &now) != 0) {
    size_ = 0;
    seen_ = {};
    return {};
  }
  if (!force && same(now, seen_)) return {content_, size_};

  size_ = 0;
  seen_ = {};
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  for (;;) {
    const ssize_t got = ::read(file, content_ + size_, sizeof(content_) - size_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      // A failed read is tried again at the next poll.
      if (got == 0) seen_ = now;
      break;
    }
    size_ += static_cast<size_t>(got);
  }
  ::close(file);
  return {content_, size_};
}

}  // namespace muster::wait
