// External mode: another program (cert-manager, an operator) renews tls.crt, tls.key and ca.crt in a directory, usually
// a mounted Secret. muster only reads there.
//
// A change is detected at once or, at the latest, after 10 s (certs/directory_events.h). A set of files is used only
// when it is complete: the key belongs to the certificate, the certificate has not expired, and ca.crt, when there is
// one, has signed it. A half-written set is skipped, and the served certificate stays until the next check. Without
// ca.crt the bundle is empty: then another program injects it into the webhook configurations.
//
// One thread waits and reads; only wake() can be called from others.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/clock.h"
#include "certs/directory_events.h"
#include "certs/serving_certificate.h"

namespace muster::certs {

class DirectoryWatcher {
 public:
  // The directory can be missing still.
  explicit DirectoryWatcher(std::filesystem::path directory) : events_(std::move(directory)) {}

  struct Reading {
    // A whole set of files that differs from the last one taken over.
    std::optional<ServingCertificate> changed;
    // Why the files as they are now cannot be served; empty when they can.
    std::string problem;
  };
  Reading read(TimePoint now);

  // Blocks until something in the directory has changed, wake() is called, or `limit` has passed. Can return early;
  // read() shows whether anything has changed.
  void wait(Duration limit = kDirectoryPoll) { events_.wait(limit); }
  // Ends the present or the next wait(). Thread-safe.
  void wake() { events_.wake(); }

  // The last set of files taken over.
  const std::optional<ServingCertificate>& current() const { return current_; }

 private:
  DirectoryEvents events_;
  std::optional<ServingCertificate> current_;
};

}  // namespace muster::certs
