// The thread that drives muster's own certificates: it ticks the CertificateManager,
// and answers when the webhook configurations were seen with other bundles.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "certs/manager.h"

namespace muster::runtime {

class CertificateKeeper {
 public:
  struct Callbacks {
    // A certificate to serve from now on; called on the keeper's thread.
    std::function<void(const certs::ServingCertificate&)> changed;
    // The bundle that the webhook configurations must hold, after each change of it and
    // after each bundles_seen(), read from the store after that.
    std::function<void(const std::string& bundle)> issued;
  };

  // `clock` must outlive the keeper. The thread starts at once.
  CertificateKeeper(std::unique_ptr<certs::CertificateStore> store, certs::CertificateSettings settings,
                    const Clock& clock, Callbacks callbacks);
  ~CertificateKeeper();
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  // What every webhook configuration holds at present. Thread-safe, returns at once.
  void bundles_seen(std::vector<std::string> bundles) EXCLUDES(mutex_);

 private:
  void run();

  const Clock& clock_;
  const Callbacks callbacks_;
  std::unique_ptr<certs::CertificateStore> store_;
  certs::CertificateManager manager_;  // owned by thread_
  std::string last_problem_;           // said once in the log, not at every try

  Mutex mutex_;
  CondVar changed_;
  std::optional<std::vector<std::string>> seen_ GUARDED_BY(mutex_);  // not yet passed to the manager
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace muster::runtime
