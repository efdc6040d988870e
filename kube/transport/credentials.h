// muster's current identity for the API server.
//
// Tokens, certificates and authorities change under a running process: kubelets
// rewrite the service account's token, cloud plugins hand out tokens for minutes.
// Credentials follows them and hands out identities; the client asks for one per request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/transport/cluster_access.h"
#include "kube/transport/exec_plugin.h"
#include "kube/transport/tls.h"

namespace muster::kube {

struct Identity {
  std::string authorization;  // the header's value; empty when a certificate is used
  std::shared_ptr<const TlsMaterial> tls;
  uint64_t generation = 0;  // another one whenever anything above changed
};

// Thread-safe. Files are read again when what was read is a minute old (less 10 s, so that nothing older is
// ever used; client-go transport/token_source.go). A plugin runs again at its credential's
// expirationTimestamp. If a later read or run fails, the previous identity stays in use and `on_problem` is
// called.
class Credentials {
 public:
  static constexpr Duration kReadAgainAfter = std::chrono::seconds(50);

  // `clock` must outlive it. `on_problem` is called with the lock held: it must not
  // call back, and can be called from any thread.
  Credentials(ClusterAccess access, const Clock& clock, std::function<void(const std::string&)> on_problem);

  // Can read files and run the plugin, and blocks other callers during this time.
  Result<Identity> current() EXCLUDES(mutex_);

  // The server answered 401 to `identity`: forget what it was made of, unless that
  // has been replaced already.
  void rejected(const Identity& identity) EXCLUDES(mutex_);

  const ClusterAccess& access() const { return access_; }

 private:
  struct Files {
    TlsPem pem;
    std::string token;
  };
  Result<Files> read_files() const;
  Outcome<> refresh_files(Now now) REQUIRES(mutex_);
  Outcome<> refresh_plugin(Now now) REQUIRES(mutex_);
  Outcome<> assemble() REQUIRES(mutex_);

  const ClusterAccess access_;
  const Clock& clock_;
  const std::function<void(const std::string&)> on_problem_;

  Mutex mutex_;
  std::optional<Files> files_ GUARDED_BY(mutex_);
  std::optional<MonotonicTime> files_read_ GUARDED_BY(mutex_);  // nullopt: read at the next call
  std::optional<ExecCredential> plugin_ GUARDED_BY(mutex_);
  std::optional<Identity> identity_ GUARDED_BY(mutex_);
};

}  // namespace muster::kube
