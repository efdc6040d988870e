#include "server/probes.h"

#include <utility>

namespace muster::server {

namespace {

constexpr const char* kShutdown = "shutdown";

bool asks_for_details(std::string_view query) {
  for (auto rest = query; !rest.empty();) {
    const auto end = rest.find('&');
    const auto item = rest.substr(0, end);
    if (item.substr(0, item.find('=')) == "verbose") return true;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return false;
}

}  // namespace

Readiness::Readiness(const std::vector<std::string>& checks) {
  for (const auto& check : checks) failures_[check] = "not yet";
  failures_[kShutdown] = "";
}

void Readiness::set_ready(const std::string& check) {
  MutexLock lock(mutex_);
  failures_[check].clear();
}

void Readiness::set_unready(const std::string& check, std::string reason) {
  MutexLock lock(mutex_);
  failures_[check] = reason.empty() ? "failed" : std::move(reason);
}

void Readiness::shut_down() {
  set_unready(kShutdown, "muster is shutting down");
}

void Readiness::set_sick(std::string reason) {
  MutexLock lock(mutex_);
  sick_ = std::move(reason);
}

HttpResponse Readiness::health(bool verbose) const {
  HttpResponse response;
  MutexLock lock(mutex_);
  if (!sick_.empty()) {
    response.status = 503;
    response.body = "[-]engine failed: " + sick_ + "\nhealthz check failed\n";
  } else {
    response.body = verbose ? "[+]ping ok\nhealthz check passed\n" : "ok";
  }
  return response;
}

void Readiness::add_check(const std::string& check, std::function<std::string()> why) {
  asked_[check] = std::move(why);
}

std::map<std::string, std::string> Readiness::failures() const {
  std::map<std::string, std::string> all;
  {
    MutexLock lock(mutex_);
    all = failures_;
  }
  for (const auto& [check, why] : asked_) all[check] = why();
  return all;
}

bool Readiness::ready() const {
  for (const auto& [check, reason] : failures()) {
    if (!reason.empty()) return false;
  }
  return true;
}

HttpResponse Readiness::report(bool verbose) const {
  HttpResponse response;
  for (const auto& [check, reason] : failures()) {
    if (!reason.empty()) response.status = 503;
    if (!reason.empty()) response.body += "[-]" + check + " failed: " + reason + "\n";
    if (reason.empty() && verbose) response.body += "[+]" + check + " ok\n";
  }
  if (response.status != 200) {
    response.body += "readyz check failed\n";
  } else {
    response.body += verbose ? "readyz check passed\n" : "ok";
  }
  return response;
}

ProbePaths probe_paths(std::string_view liveness_endpoint, std::string_view readiness_endpoint) {
  ProbePaths paths;
  const auto set = [](std::string_view name, std::string& path) {
    if (!name.empty()) path = (name.front() == '/' ? "" : "/") + std::string(name);
  };
  set(liveness_endpoint, paths.liveness);
  set(readiness_endpoint, paths.readiness);
  return paths;
}

Routes probe_routes(const Readiness& readiness, const ProbePaths& paths) {
  const auto health = [&readiness](const HttpRequest& request) {
    return readiness.health(asks_for_details(request.query));
  };
  const auto ready = [&readiness](const HttpRequest& request) {
    return readiness.report(asks_for_details(request.query));
  };
  return {{HttpMethod::kGet, paths.liveness, health}, {HttpMethod::kGet, paths.readiness, ready}};
}

ProbeServer::ProbeServer(HttpServerOptions options, const Readiness& readiness, const ProbePaths& paths)
    : server_(std::move(options), probe_routes(readiness, paths)) {}

}  // namespace muster::server
