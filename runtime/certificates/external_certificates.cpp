#include "runtime/certificates/external_certificates.h"

#include "runtime/log.h"

namespace muster::runtime {

ExternalCertificates::ExternalCertificates(const std::string& directory, const Clock& clock,
                                           std::function<void(const certs::ServingCertificate&)> changed)
    : clock_(clock), changed_(std::move(changed)), watcher_(directory) {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

ExternalCertificates::~ExternalCertificates() {
  thread_.request_stop();
  watcher_.wake();
  thread_.join();
}

std::string ExternalCertificates::bundle() {
  MutexLock lock(mutex_);
  return bundle_;
}

void ExternalCertificates::run(std::stop_token stop) {
  std::string last_problem;
  while (!stop.stop_requested()) {
    const certs::DirectoryWatcher::Reading reading = watcher_.read(clock_.now().wall);
    if (reading.changed) {
      {
        MutexLock lock(mutex_);
        bundle_ = reading.changed->bundle;
      }
      changed_(*reading.changed);
    }
    if (reading.problem != last_problem && !reading.problem.empty()) {
      log_warning("certificates need attention", {{"problem", reading.problem}});
    }
    last_problem = reading.problem;
    watcher_.wait();
  }
}

}  // namespace muster::runtime
