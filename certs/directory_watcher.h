// External mode: somebody else (cert-manager, an operator) renews tls.crt, tls.key
// and ca.crt in a directory, usually a mounted Secret. muster only ever reads there.
//
// A change is seen at once by inotify, and within 10 s by looking where inotify does
// not work (network file systems). A set of files is taken over only when it is whole:
// the key belongs to the certificate, the certificate has not expired, and ca.crt,
// when there is one, has signed it. A half-written set is skipped and what is served
// stays, until the next look. Without ca.crt the bundle is empty: then somebody else
// injects it into the webhook configurations.
//
// One thread waits and reads; only wake() may be called from others.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/clock.h"
#include "certs/serving_certificate.h"

namespace muster {

inline constexpr Duration kDirectoryPoll = std::chrono::seconds(10);

class DirectoryWatcher {
 public:
  // The directory may be missing still.
  explicit DirectoryWatcher(std::filesystem::path directory);
  ~DirectoryWatcher();
  DirectoryWatcher(const DirectoryWatcher&) = delete;
  DirectoryWatcher& operator=(const DirectoryWatcher&) = delete;

  struct Reading {
    // A whole set of files that differs from the last one taken over.
    std::optional<ServingCertificate> changed;
    // Why the files as they are now cannot be served; empty when they can.
    std::string problem;
  };
  Reading read(TimePoint now);

  // Blocks until something in the directory has changed, wake() is called, or
  // `limit` has passed. May return early; read() tells whether anything is new.
  void wait(Duration limit = kDirectoryPoll);
  // Ends the present or the next wait(). Thread-safe.
  void wake();

  // The last set of files taken over.
  const std::optional<ServingCertificate>& current() const { return current_; }

 private:
  void watch_again();

  const std::filesystem::path directory_;
  const int inotify_;
  const int wake_;  // an eventfd
  int watched_ = -1;
  std::optional<ServingCertificate> current_;
};

}  // namespace muster
