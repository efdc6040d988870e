#include "runtime/certificates/certificate_keeper.h"

#include "runtime/log.h"

namespace muster::runtime {

CertificateKeeper::CertificateKeeper(std::unique_ptr<certs::CertificateStore> store,
                                     certs::CertificateSettings settings, const Clock& clock, Callbacks callbacks)
    : clock_(clock),
      callbacks_(std::move(callbacks)),
      store_(std::move(store)),
      manager_(*store_, std::move(settings),
               [this](const certs::ServingCertificate& certificate) { callbacks_.changed(certificate); }) {
  thread_ = std::thread([this] { run(); });
}

CertificateKeeper::~CertificateKeeper() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CertificateKeeper::bundles_seen(std::vector<std::string> bundles) {
  {
    MutexLock lock(mutex_);
    seen_ = std::move(bundles);
  }
  changed_.notify_all();
}

void CertificateKeeper::run() {
  std::optional<std::vector<std::string>> bundles;  // the last that were seen
  std::string issued;                               // the last bundle that was returned
  bool asked = false;                               // a caller waits for an answer to `bundles`
  for (;;) {
    const certs::CertificateManager::Tick tick = manager_.tick(clock_.now());
    if (!tick.did.empty()) log_info("certificates changed", {{"what", tick.did}});
    if (tick.problem != last_problem_ && !tick.problem.empty()) {
      log_warning("certificates need attention", {{"problem", tick.problem}});
    }
    last_problem_ = tick.problem;
    // Called after every tick: the time since a bundle is in place decides when a new CA can sign.
    const bool wanted = bundles && manager_.injected(*bundles, clock_.now());
    if (manager_.current() && (wanted || asked || manager_.current()->bundle != issued)) {
      issued = manager_.current()->bundle;
      asked = false;
      callbacks_.issued(issued);
    }

    const auto wake = clock_.now().monotonic + tick.again_in;
    MutexLock lock(mutex_);
    while (!stopping_ && !seen_) {
      if (changed_.wait_until(mutex_, wake) == std::cv_status::timeout) break;
    }
    if (stopping_) return;
    if (seen_) {
      bundles = std::move(*seen_);
      seen_.reset();
      asked = true;
    }
  }
}

}  // namespace muster::runtime
