#include "certs/directory_events.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>

namespace muster::certs {
namespace {

// Links and files that are moved in, made, closed after writing or removed; not
// mere reads, which are our own.
constexpr uint32_t kEvents =
    IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

void drain(int fd) {
  alignas(inotify_event) char buffer[4096];
  while (::read(fd, buffer, sizeof buffer) > 0) {
  }
}

}  // namespace

DirectoryEvents::DirectoryEvents(std::filesystem::path directory)
    : directory_(std::move(directory)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  watch();
}

DirectoryEvents::~DirectoryEvents() {
  if (inotify_ >= 0) close(inotify_);
  if (wake_ >= 0) close(wake_);
}

// Adding a watch that exists changes nothing; after the directory was replaced or
// when it appears late, it makes a new one.
void DirectoryEvents::watch() {
  const int watch = inotify_add_watch(inotify_, directory_.c_str(), kEvents);
  if (watched_ >= 0 && watch != watched_) inotify_rm_watch(inotify_, watched_);
  watched_ = watch;
}

void DirectoryEvents::wait(Duration limit) {
  pollfd descriptors[] = {{inotify_, POLLIN, 0}, {wake_, POLLIN, 0}};
  const auto milliseconds =
      std::chrono::ceil<std::chrono::milliseconds>(std::clamp<Duration>(limit, Duration{}, kDirectoryPoll));
  if (::poll(descriptors, 2, static_cast<int>(milliseconds.count())) <= 0) return;
  drain(inotify_);
  drain(wake_);
}

void DirectoryEvents::wake() {
  eventfd_write(wake_, 1);
}

}  // namespace muster::certs
