#include "certs/directory_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>

#include "certs/authority.h"
#include "certs/files.h"

namespace muster {
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

Result<ServingCertificate> read_set(const std::filesystem::path& directory, TimePoint now) {
  const auto chain = read_file_if_present(directory / "tls.crt");
  const auto key = read_file_if_present(directory / "tls.key");
  const auto bundle = read_file_if_present(directory / "ca.crt");
  for (const auto* file : {&chain, &key, &bundle}) {
    if (!*file) return fail_with(file->error());
  }
  if (!*chain || !*key) {
    return fail(directory.string() + " has no " + (*chain ? "tls.key" : "tls.crt") +
                "; mount a Secret of type kubernetes.io/tls there");
  }
  ServingCertificate set{std::string((*chain)->view()), **key, std::string(bundle->value_or("").view()), {}};
  if (auto fits = check_key({set.chain, set.key}); !fits) {
    return fail("tls.crt and tls.key in " + directory.string() + " cannot be served: " + fits.error().message);
  }
  const auto facts = read_certificate(set.chain);
  if (!facts) return fail_with(facts.error());
  set.expires = facts->not_after;
  if (now >= set.expires)
    return fail("tls.crt in " + directory.string() + " has expired; whoever issues it must renew it");
  if (set.bundle.empty()) return set;
  const TimePoint at = std::max(now, facts->not_before);
  if (auto trusted = verify_chain(set.chain, set.bundle, at); !trusted) {
    return fail("ca.crt in " + directory.string() + " has not signed tls.crt (" + trusted.error().message +
                "); remove ca.crt if somebody else injects the CA bundle");
  }
  return set;
}

}  // namespace

DirectoryWatcher::DirectoryWatcher(std::filesystem::path directory)
    : directory_(std::move(directory)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  watch_again();
}

DirectoryWatcher::~DirectoryWatcher() {
  if (inotify_ >= 0) close(inotify_);
  if (wake_ >= 0) close(wake_);
}

// Adding a watch that exists changes nothing; after the directory was replaced or
// when it appears late, it makes a new one.
void DirectoryWatcher::watch_again() {
  const int watch = inotify_add_watch(inotify_, directory_.c_str(), kEvents);
  if (watched_ >= 0 && watch != watched_) inotify_rm_watch(inotify_, watched_);
  watched_ = watch;
}

DirectoryWatcher::Reading DirectoryWatcher::read(TimePoint now) {
  // First watch, then read: a change between the two is an event of the next wait.
  watch_again();
  auto set = read_set(directory_, now);
  if (!set) return {std::nullopt, set.error().message};
  if (current_ == *set) return {};
  current_ = std::move(set).value();
  return {current_, ""};
}

void DirectoryWatcher::wait(Duration limit) {
  pollfd descriptors[] = {{inotify_, POLLIN, 0}, {wake_, POLLIN, 0}};
  const auto milliseconds =
      std::chrono::ceil<std::chrono::milliseconds>(std::clamp<Duration>(limit, Duration{}, kDirectoryPoll));
  if (::poll(descriptors, 2, static_cast<int>(milliseconds.count())) <= 0) return;
  drain(inotify_);
  drain(wake_);
}

void DirectoryWatcher::wake() {
  eventfd_write(wake_, 1);
}

}  // namespace muster
