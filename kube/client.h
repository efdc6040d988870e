// The client of one API server, over the network.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "kube/api.h"
#include "kube/observer.h"
#include "kube/retry.h"
#include "kube/transport/cluster_access.h"
#include "kube/transport/connection_pool.h"
#include "kube/transport/credentials.h"
#include "kube/transport/throttle.h"
#include "kube/transport/timing.h"

namespace muster::kube {

struct ClientOptions {
  std::string user_agent;
  size_t max_in_flight = 64;
  RateLimit rate_limit;  // no limit by default
  size_t max_answer_bytes = 256 * 1024 * 1024;
  // Instead of each request's own timeout, where that is longer.
  std::optional<Duration> request_timeout{};
};

// "muster/0.1.0 (linux/amd64) 1a2b3c4": the form of Kubernetes' own components.
std::string user_agent(std::string_view version, std::string_view commit);

// Thread-safe. Each call uses the calling thread; there are no threads inside.
class KubeClient final : public KubeApi {
 public:
  // Reads the credentials once, so that errors in them appear at startup; sends nothing. An exec
  // plugin runs now. The observer and what `timing` refers to must outlive the client. The
  // process must ignore SIGPIPE (main.cpp), because OpenSSL writes to sockets that the server has possibly closed.
  static Result<std::unique_ptr<KubeClient>> make(ClusterAccess access, ClientOptions options, Timing timing,
                                                  KubeObserver& observer);

  Answer send(const KubeRequest& request, std::stop_token stop) override;
  Outcome<StatusError> stream(const KubeRequest& request, const ByteSink& on_bytes, std::stop_token stop) override;

  // Its current identity for the server.
  Result<Identity> identity() { return credentials_.current(); }
  // Where the credentials came from, for a log line.
  const std::string& source() const { return credentials_.access().source; }

 private:
  struct Attempt;

  KubeClient(ClusterAccess access, Endpoint endpoint, ClientOptions options, Timing timing, KubeObserver& observer);

  HttpRequest wire_request(const KubeRequest& request, const Identity& identity) const;
  void wait_for_token(const KubeRequest& request, std::stop_token stop) EXCLUDES(mutex_);
  Attempt attempt(const KubeRequest& request, const Identity& identity, std::stop_token stop);
  void record(const KubeRequest& request, int status, MonotonicTime started);

  const ClientOptions options_;
  const std::string host_;
  const std::string path_prefix_;
  const Timing timing_;
  KubeObserver& observer_;
  Credentials credentials_;  // own synchronization
  ConnectionPool pool_;      // own synchronization

  mutable Mutex mutex_;
  Throttle throttle_ GUARDED_BY(mutex_);
};

}  // namespace muster::kube
