#include "runtime/log_observers.h"

#include "api/meta/time.h"
#include "runtime/log.h"

namespace muster::runtime {

std::optional<int> LogThrottle::pass(const std::string& kind, MonotonicTime now) {
  MutexLock lock(mutex_);
  auto [seen, is_new] = seen_.try_emplace(kind, Seen{now, 0});
  if (is_new) return 0;
  if (now - seen->second.last < interval_) {
    ++seen->second.swallowed;
    return std::nullopt;
  }
  seen->second.last = now;
  return std::exchange(seen->second.swallowed, 0);
}

std::optional<int> TextThrottle::pass(const std::string& text, MonotonicTime now) {
  bool known = true;
  {
    MutexLock lock(mutex_);
    if (texts_.size() < kTexts) texts_.insert(text);
    known = texts_.contains(text);
  }
  return throttle_.pass(known ? "text " + text : "others", now);
}

void ServerLog::on_event(server::ServerEvent event, std::string_view detail) {
  const std::string what(server::to_text(event));
  const auto swallowed = throttle_.pass(what, clock_.now().monotonic);
  if (!swallowed) return;
  // A failed handshake of an unknown client is not an error of muster; an exception of a handler is.
  const LogLevel level = event == server::ServerEvent::kHandlerFailed ? LogLevel::kError : LogLevel::kWarning;
  log(level, what, {{"detail", detail}, {"repeated", *swallowed}});
}

void KubeLog::request_done(std::string_view method, std::string_view host, std::string_view code, Duration latency) {
  metrics_.request_done(method, host, code, latency);
}

void KubeLog::warned(std::string_view method, std::string_view path, const std::string& text) {
  metrics_.warned();
  if (auto swallowed = warnings_.pass(text, clock_.now().monotonic)) {
    log_warning("the API server warns",
                {{"method", method}, {"path", path}, {"warning", text}, {"repeated", *swallowed}});
  }
}

void KubeLog::retrying(std::string_view method, std::string_view path, const std::string& why, Duration delay) {
  if (auto swallowed = throttle_.pass("retrying", clock_.now().monotonic)) {
    log_warning("request to the API server is tried again", {{"method", method},
                                                             {"path", path},
                                                             {"why", why},
                                                             {"delay", format_duration(delay)},
                                                             {"repeated", *swallowed}});
  }
}

void KubeLog::throttled(std::string_view method, std::string_view path, Duration delay) {
  if (auto swallowed = throttle_.pass("throttled", clock_.now().monotonic)) {
    log_info("request waits for clientConnection.qps",
             {{"method", method}, {"path", path}, {"delay", format_duration(delay)}, {"repeated", *swallowed}});
  }
}

void KubeLog::credentials_stale(const std::string& why) {
  if (auto swallowed = throttle_.pass("credentials", clock_.now().monotonic)) {
    log_warning("credentials could not be refreshed, the old ones are still in use",
                {{"why", why}, {"repeated", *swallowed}});
  }
}

void KubeLog::heard(const kube::Resource& resource, const std::string& selector) {
  metrics_.watch_ages()->heard(kube::display_name(resource), selector);
}

// One line per interval for each of the two, for any number of objects.
void KubeLog::write_failed(const std::string& object, const std::string& why, bool refused) {
  if (auto swallowed = throttle_.pass(refused ? "write refused" : "write failed", clock_.now().monotonic))
    log_warning("a write failed", {{"object", object}, {"why", why}, {"repeated", *swallowed}});
}

void KubeLog::listing(const kube::Resource& resource, const std::string& why) {
  const std::string name = kube::display_name(resource);
  bool news = !why.empty();
  {
    MutexLock lock(mutex_);
    news = news && !absent_.contains(name);
  }
  log(news ? LogLevel::kInfo : LogLevel::kDebug, "listing", {{"resource", name}, {"why", why}});
}

void KubeLog::reconnecting(const kube::Resource& resource, const std::string& why, Duration delay) {
  if (auto swallowed = throttle_.pass("reconnecting " + kube::display_name(resource), clock_.now().monotonic)) {
    log_warning("watch broke and is resumed", {{"resource", kube::display_name(resource)},
                                               {"why", why},
                                               {"delay", format_duration(delay)},
                                               {"repeated", *swallowed}});
  }
}

void KubeLog::absent(const kube::Resource& resource) {
  {
    MutexLock lock(mutex_);
    absent_.insert(kube::display_name(resource));
  }
  log_info("the API server does not serve this kind; muster continues without it and looks again every 30 s",
           {{"resource", kube::display_name(resource)}});
}

void KubeLog::objected(const kube::Resource& resource, const std::string& why) {
  const std::string name = kube::display_name(resource);
  metrics_.set_contradicted(name, !why.empty());
  if (why.empty())
    return log_info("the CustomResourceDefinition has what the description of the kind says", {{"resource", name}});
  log_error(
      "the description of a kind contradicts its CustomResourceDefinition: its objects are not queued, started or "
      "stopped; "
      "correct the description in muster's configuration, or the definition, which is read again every 30 s",
      {{"resource", name}, {"why", why}});
}
void KubeLog::forbidden(const kube::Resource& resource, const std::string& message) {
  log_error("permission denied by RBAC; compare with `muster manifests --only rbac`",
            {{"resource", kube::display_name(resource)}, {"message", message}});
}

void KubeLog::lease_failed(const std::string& lease, const std::string& why) {
  if (auto swallowed = throttle_.pass("lease", clock_.now().monotonic)) {
    log_warning("leader election: the lease cannot be read or written, tried again",
                {{"lease", lease}, {"why", why}, {"repeated", *swallowed}});
  }
}

void KubeLog::event_done(kube::EventOutcome outcome, const std::string& why) {
  const std::string name(kube::label_of(outcome));
  metrics_.event_done(name);
  if (why.empty()) return;
  if (auto swallowed = throttle_.pass("event " + name, clock_.now().monotonic)) {
    log_warning("an event about an object could not be written",
                {{"outcome", name}, {"why", why}, {"repeated", *swallowed}});
  }
}

}  // namespace muster::runtime
