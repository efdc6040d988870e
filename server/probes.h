// /healthz and /readyz for the kubelet: plain HTTP, GET only, a separate listener, so that neither TLS nor a flood of
// reviews makes the probes fail.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "server/http_server.h"

namespace muster::server {

// The checks behind /readyz, each with a name and, while it fails, the reason.
// Thread-safe.
class Readiness {
 public:
  // All begin as failed, "not yet".
  explicit Readiness(const std::vector<std::string>& checks = {"certificate", "listener", "sync"});

  void set_ready(const std::string& check);
  void set_unready(const std::string& check, std::string reason);
  // A check that runs at each request: why it fails, or empty. Call it before the first request.
  void add_check(const std::string& check, std::function<std::string()> why);
  // Permanent: muster is about to stop. Shown as the check "shutdown".
  void shut_down();

  // What /healthz says: a reason why only a new process can help; empty: there is none.
  void set_sick(std::string reason);
  HttpResponse health(bool verbose) const;

  bool ready() const;
  // 200 "ok" or 503 with the failing checks; `verbose` shows them all, in the form
  // that Kubernetes' own components use.
  HttpResponse report(bool verbose) const;

 private:
  std::map<std::string, std::string> failures() const;

  std::map<std::string, std::function<std::string()>> asked_;
  mutable Mutex mutex_;
  std::map<std::string, std::string> failures_ GUARDED_BY(mutex_);  // check -> reason; empty: ready
  std::string sick_ GUARDED_BY(mutex_);
};

struct ProbePaths {
  std::string liveness = "/healthz";
  std::string readiness = "/readyz";
};
// With the endpoint names of Kueue's Configuration; an empty one is the default. The slash before it can be left out.
ProbePaths probe_paths(std::string_view liveness_endpoint, std::string_view readiness_endpoint);

// The two routes; `readiness` outlives them. /healthz is 200 as long as a
// worker answers and nothing has called set_sick().
Routes probe_routes(const Readiness& readiness, const ProbePaths& paths);

// options.bind_address is ":8081" by convention; options.tls must be null.
class ProbeServer {
 public:
  ProbeServer(HttpServerOptions options, const Readiness& readiness, const ProbePaths& paths = {});

  Outcome<> start() { return server_.start(); }
  uint16_t port() const { return server_.port(); }
  void drain(const DrainTimes& times) { server_.drain(times); }

 private:
  HttpServer server_;
};

}  // namespace muster::server
