#include "kube/reader_sessions.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/reader_session.h"

namespace muster::kube {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(10);

// In the name of no user.
json forged_session() {
  return reader_session({{"username", "muster.batch:nobody"}}, "");
}

KubeRequest some_sessions(int limit, const std::string& from) {
  KubeRequest request;
  request.path = collection_path(resource_of(kReaderSessions), "");
  request.query = {{"limit", std::to_string(limit)}};
  if (!from.empty()) request.query.emplace_back("continue", from);
  request.timeout = kTimeout;
  request.once = true;
  return request;
}

}  // namespace

KubeApi::Answer ReaderSessions::user_of(std::string_view token, std::stop_token stop) {
  const auto read = read_reader_session_token(token);
  if (!read) return json();
  auto session = api_.get(resource_of(kReaderSessions), read->ns, read->name, stop);
  if (!session && session.error().code == 404) return json();
  if (!session) return session;
  json user = user_of_reader_session(*session, read->secret, clock_.now().wall);
  if (user.is_null()) return user;
  if (auto guarded = check_guard(stop); !guarded) return fail_with(guarded.error());
  sweep(stop);
  return user;
}

Outcome<StatusError> ReaderSessions::check_guard(std::stop_token stop) {
  const MonotonicTime now = clock_.now().monotonic;
  {
    const MutexLock lock(mutex_);
    if (now < guarded_until_) return Done{};
  }
  const auto created =
      api_.create(resource_of(kReaderSessions), own_namespace_, forged_session(), {.dry_run = true}, stop);
  const bool refused = !created && created.error().message.find(kReaderSessionRefusal) != std::string::npos;
  if (!refused)
    return fail_with(unanswered(kUnguardedReason,
                                "nothing proves who creates a ReaderSession: the admission policy of sessions did not "
                                "refuse one in the name of another user (" +
                                    (created ? "it was accepted" : created.error().message) + ")"));
  const MutexLock lock(mutex_);
  guarded_until_ = now + kRememberGuard;
  return Done{};
}

void ReaderSessions::sweep(std::stop_token stop) {
  std::string from;
  {
    const MutexLock lock(mutex_);
    const MonotonicTime now = clock_.now().monotonic;
    if (now < sweep_at_) return;
    sweep_at_ = now + kSweepEvery;
    from = sweep_from_;
  }
  const auto listed = api_.send(some_sessions(kSweptAtOnce, from), stop);
  for (const json& session : listed ? array_at(*listed, {"items"}) : json::array()) {
    if (!is_over(session, clock_.now().wall)) continue;
    const DeleteOptions this_one{.uid = std::string(string_at(session, {"metadata", "uid"}))};
    // Another replica can be quicker; what stays is found again.
    (void)api_.remove(resource_of(kReaderSessions), string_at(session, {"metadata", "namespace"}),
                      string_at(session, {"metadata", "name"}), this_one, stop);
  }
  const MutexLock lock(mutex_);
  sweep_from_ = listed ? string_at(*listed, {"metadata", "continue"}) : "";
}

}  // namespace muster::kube
