#include "kube/client.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::kube {
namespace {

using nlohmann::json;
using Kind = ConnectionError::Kind;

// The body of a refused stream is a Status; more is of no interest.
constexpr size_t kMaxErrorBytes = 1024 * 1024;

#if defined(__x86_64__)
constexpr std::string_view kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr std::string_view kPlatform = "linux/arm64";
#else
constexpr std::string_view kPlatform = "linux/unknown";
#endif

StatusError to_status(const ConnectionError& error) {
  switch (error.kind) {
    case Kind::kCancelled:
      return unanswered(kCancelledReason, error.message);
    case Kind::kTimedOut:
      return unanswered(kNoAnswerInTimeReason, error.message);
    case Kind::kNotSent:
    case Kind::kBroken:
      break;
  }
  return unanswered(kUnreachableReason, error.message);
}

// As Go reads a duration; never 0, which would mean the server's own.
std::string milliseconds_text(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return std::to_string(std::max<int64_t>(whole, 1)) + "ms";
}

StatusError stopped() {
  return unanswered(kCancelledReason, "cancelled");
}

}  // namespace

std::string user_agent(std::string_view version, std::string_view commit) {
  std::string text = "muster/" + std::string(version) + " (" + std::string(kPlatform) + ")";
  if (!commit.empty()) text.append(" ").append(commit.substr(0, 7));
  return text;
}

// One attempt to send a request, and its result.
struct KubeClient::Attempt {
  int status = 0;  // 0: no answer
  std::string retry_after;
  std::string body;
  std::optional<StatusError> error;
  bool sent = true;
};

Result<std::unique_ptr<KubeClient>> KubeClient::make(ClusterAccess access, ClientOptions options, Timing timing,
                                                     KubeObserver& observer) {
  auto endpoint = parse_endpoint(access.server);
  if (!endpoint.ok()) return fail(access.source + ": " + endpoint.error().message);
  endpoint->server_name = access.tls_server_name;
  endpoint->insecure = access.insecure_skip_tls_verify;

  std::unique_ptr<KubeClient> client(
      new KubeClient(std::move(access), std::move(*endpoint), std::move(options), std::move(timing), observer));
  if (auto identity = client->credentials_.current(); !identity.ok()) return fail(identity.error().message);
  return client;
}

KubeClient::KubeClient(ClusterAccess access, Endpoint endpoint, ClientOptions options, Timing timing,
                       KubeObserver& observer)
    : options_(std::move(options)),
      host_(endpoint.host + ":" + std::to_string(endpoint.port)),
      path_prefix_(endpoint.path_prefix),
      timing_(std::move(timing)),
      observer_(observer),
      credentials_(std::move(access), timing_.clock,
                   [this](const std::string& why) { observer_.credentials_stale(why); }),
      pool_(std::move(endpoint), options_.max_in_flight, timing_.clock),
      throttle_(options_.rate_limit) {}

HttpRequest KubeClient::wire_request(const KubeRequest& request, const Identity& identity) const {
  HttpRequest wire{request.method, with_query(path_prefix_ + request.path, request.query), {}, request.body};
  wire.headers.emplace_back("Accept", request.accept);
  wire.headers.emplace_back("User-Agent", options_.user_agent);
  if (!request.body.empty()) wire.headers.emplace_back("Content-Type", request.content_type);
  if (!identity.authorization.empty()) wire.headers.emplace_back("Authorization", identity.authorization);
  const ClusterAccess& access = credentials_.access();
  if (!access.impersonate_user.empty()) wire.headers.emplace_back("Impersonate-User", access.impersonate_user);
  for (const std::string& group : access.impersonate_groups) wire.headers.emplace_back("Impersonate-Group", group);
  wire.headers.insert(wire.headers.end(), request.headers.begin(), request.headers.end());
  return wire;
}

void KubeClient::wait_for_token(const KubeRequest& request, std::stop_token stop) {
  Duration delay;
  {
    const MutexLock lock(mutex_);
    delay = throttle_.take(timing_.clock.now().monotonic);
  }
  if (delay <= Duration::zero()) return;
  observer_.throttled(request.method, request.path, delay);
  timing_.sleeper.sleep(delay, stop);
}

void KubeClient::record(const KubeRequest& request, int status, MonotonicTime started) {
  const std::string code = status == 0 ? "<error>" : std::to_string(status);
  observer_.request_done(request.method, host_, code, timing_.clock.now().monotonic - started);
}

KubeClient::Attempt KubeClient::attempt(const KubeRequest& request, const Identity& identity, std::stop_token stop) {
  Attempt result;
  const auto lease = pool_.take(identity, stop);
  if (!lease) {
    result.error = stopped();
    return result;
  }
  const size_t most_bytes = request.max_answer_bytes > 0 ? std::min(request.max_answer_bytes, options_.max_answer_bytes)
                                                         : options_.max_answer_bytes;
  bool too_large = false;
  HttpHandlers handlers;
  handlers.on_head = [&](const HttpHead& head) {
    result.status = head.status;
    result.retry_after = head.retry_after;
    for (const std::string& text : head.warnings) observer_.warned(request.method, request.path, text);
  };
  handlers.on_body = [&](std::string_view bytes) {
    if (result.body.size() + bytes.size() > most_bytes) return !(too_large = true);
    result.body += bytes;
    return true;
  };
  const MonotonicTime started = timing_.clock.now().monotonic;
  if (request.not_after && started >= *request.not_after) {
    result.error = unanswered(kTooLateReason, request.method + " " + request.path + " was due before it could be sent");
    return result;
  }
  // A leader's request must not take effect, or be waited for, after the end of its term. So the request also
  // tells the server its timeout.
  const Duration most = std::min(request.timeout, options_.request_timeout.value_or(request.timeout));
  const Duration timeout = request.not_after ? std::min(most, Duration(*request.not_after - started)) : most;
  HttpRequest wire = wire_request(request, identity);
  if (request.not_after)
    wire.target += (request.query.empty() ? "?timeout=" : "&timeout=") + milliseconds_text(timeout);
  const auto done = (**lease).exchange(wire, handlers, timeout, timeout, stop);
  if (too_large) {
    result.error = unanswered(kTooLargeReason, "the answer to " + request.method + " " + request.path +
                                                   " is larger than " + std::to_string(most_bytes) + " bytes");
  } else if (!done.ok()) {
    result.error = to_status(done.error());
    result.sent = done.error().kind != Kind::kNotSent;
  } else if (result.status >= 300) {
    result.error = status_error(result.status, result.body, result.retry_after);
  }
  record(request, done.ok() ? result.status : 0, started);
  return result;
}

KubeApi::Answer KubeClient::send(const KubeRequest& request, std::stop_token stop) {
  RetryHistory history;
  bool renewed = false;
  while (true) {
    wait_for_token(request, stop);
    if (stop.stop_requested()) return fail_with(stopped());
    const auto identity = credentials_.current();
    if (!identity.ok()) return fail_with(unanswered(kCredentialsReason, identity.error().message));
    Attempt done = attempt(request, *identity, stop);
    if (!done.error) {
      if (request.answer_bytes != nullptr) *request.answer_bytes = done.body.size();
      if (done.body.empty()) return json();
      auto parsed = request.managed_fields ? parse_json(done.body) : parse_without_managed_fields(done.body);
      if (!parsed.ok()) {
        return fail_with(unanswered(kUnreadableReason, request.method + " " + request.path +
                                                           " was answered with no JSON: " + parsed.error().message));
      }
      return std::move(*parsed);
    }
    if (done.status == 401 && !std::exchange(renewed, true)) {
      // The server has refused these credentials, not the request: try once with the current credentials of the
      // file or the plugin.
      credentials_.rejected(*identity);
      const auto next = credentials_.current();
      if (next.ok() && next->generation != identity->generation) continue;
    }
    if (request.once || done.error->reason == kTooLateReason) return fail_with(std::move(*done.error));
    const auto delay = retry_delay(*done.error, request.repeatable, done.sent, history, timing_.random());
    if (!delay) return fail_with(std::move(*done.error));
    ++(done.error->unanswered() ? history.unanswered : history.answered);
    history.waited += *delay;
    observer_.retrying(request.method, request.path, done.error->message, *delay);
    timing_.sleeper.sleep(*delay, stop);
  }
}

Outcome<StatusError> KubeClient::stream(const KubeRequest& request, const ByteSink& on_bytes, std::stop_token stop) {
  wait_for_token(request, stop);
  if (stop.stop_requested()) return fail_with(stopped());
  const auto identity = credentials_.current();
  if (!identity.ok()) return fail_with(unanswered(kCredentialsReason, identity.error().message));
  const auto connection = pool_.separate(*identity);

  HttpHead head;
  std::string refusal;
  bool ended_by_us = false;
  const MonotonicTime started = timing_.clock.now().monotonic;
  HttpHandlers handlers;
  handlers.on_head = [&](const HttpHead& seen) {
    head = seen;
    for (const std::string& text : head.warnings) observer_.warned(request.method, request.path, text);
    record(request, head.status, started);
  };
  handlers.on_body = [&](std::string_view bytes) {
    if (head.status < 300) return !(ended_by_us = !on_bytes(bytes));
    refusal += bytes.substr(0, kMaxErrorBytes - std::min(refusal.size(), kMaxErrorBytes));
    return refusal.size() < kMaxErrorBytes;
  };
  const auto done = connection->exchange(wire_request(request, *identity), handlers, request.timeout, {}, stop);
  if (stop.stop_requested()) return fail_with(stopped());
  if (head.status == 0) record(request, 0, started);
  if (head.status == 401) credentials_.rejected(*identity);
  if (head.status >= 300) return fail_with(status_error(head.status, refusal, head.retry_after));
  if (ended_by_us || done.ok()) return Done{};
  return fail_with(to_status(done.error()));
}

}  // namespace muster::kube
