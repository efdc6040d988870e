// The thread of the external mode: serves what another program (cert-manager) renews in a directory, and never writes
// there.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "certs/directory_watcher.h"

namespace muster::runtime {

class ExternalCertificates {
 public:
  // `changed` is called on the watcher's thread with each whole set of files.
  ExternalCertificates(const std::string& directory, const Clock& clock,
                       std::function<void(const certs::ServingCertificate&)> changed);
  ~ExternalCertificates();

  // The bundle beside the certificate in use; empty when there is none. Thread-safe.
  std::string bundle() EXCLUDES(mutex_);

 private:
  void run(std::stop_token stop);

  const Clock& clock_;
  const std::function<void(const certs::ServingCertificate&)> changed_;
  certs::DirectoryWatcher watcher_;
  Mutex mutex_;
  std::string bundle_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace muster::runtime
