// Whether the bearer of a token has a permission, decided by the API server: TokenReview returns the user,
// SubjectAccessReview the permission. muster's metrics are behind it, as those of every controller-runtime program are
// (metrics/filters), and `muster explain`.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

#include "api/meta/authenticated_user.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/api.h"
#include "kube/reader_sessions.h"

namespace muster::kube {

enum class AccessDecision {
  kAllow,
  kUnauthenticated,  // no user has this token: 401
  kForbidden,        // the user lacks the permission: 403
};

// The requested action: on a non-resource URL, or, if `path` is empty, on objects.
struct AccessQuestion {
  std::string verb;
  std::string path{};
  std::string group{}, resource{};
  std::string ns{};    // empty: in all namespaces
  std::string name{};  // empty: to all objects
  std::string subresource{};
};

// Thread-safe. Answers are cached: the user of a token for 1 minute, an allowance for 5 minutes, a refusal for 30 s.
// Only digests of tokens are kept, not tokens.
class Authorizer {
 public:
  static constexpr Duration kRememberToken = std::chrono::minutes(1);
  static constexpr Duration kRememberAllow = std::chrono::minutes(5);
  static constexpr Duration kRememberDeny = std::chrono::seconds(30);

  // muster itself needs create on tokenreviews and subjectaccessreviews
  // (ClusterRole system:auth-delegator).
  //
  // With an audience, only tokens for this audience are valid: a stolen token has no use
  // elsewhere, and tokens for the API server are refused. Without an audience, tokens for
  // the API server are valid. With `sessions`, tokens of ReaderSessions are valid too. `ending` ends running requests
  // of callers without their own stop.
  Authorizer(KubeApi& api, const Clock& clock, std::string audience = {}, std::stop_token ending = {},
             std::unique_ptr<ReaderSessions> sessions = {})
      : api_(api),
        clock_(clock),
        audience_(std::move(audience)),
        ending_(std::move(ending)),
        sessions_(std::move(sessions)) {}

  // Blocks for two requests when nothing is cached. An error means that the API server gave no answer: refuse the
  // request, but with 500 and not 403.
  Result<AccessDecision, StatusError> decide(const std::string& token, const AccessQuestion& question,
                                             std::stop_token stop = {}) EXCLUDES(mutex_);
  // The same for an authenticated user: one request when nothing is cached.
  Result<AccessDecision, StatusError> decide(const AuthenticatedUser& user, const AccessQuestion& question,
                                             std::stop_token stop = {}) EXCLUDES(mutex_);

 private:
  // Unknown clients can send any number of tokens; beyond this number, the cache is cleared.
  static constexpr size_t kMaxRemembered = 4096;

  template <class V>
  struct Remembered {
    V value;
    MonotonicTime until;
  };
  // A UserInfo as text; empty: no user.
  using User = std::string;

  bool is_for_audience(const nlohmann::json& review) const;
  // By TokenReview or by its session; null: no user.
  KubeApi::Answer look_up(const std::string& token, std::stop_token stop);
  Result<User, StatusError> user_of(const std::string& token, std::stop_token stop) EXCLUDES(mutex_);
  Result<bool, StatusError> allowed(const User& user, const AccessQuestion& question, std::stop_token stop)
      EXCLUDES(mutex_);

  KubeApi& api_;
  const Clock& clock_;
  const std::string audience_;
  const std::stop_token ending_;
  const std::unique_ptr<ReaderSessions> sessions_;  // null: there are none

  Mutex mutex_;
  std::map<std::string, Remembered<User>> users_ GUARDED_BY(mutex_);       // by SHA-256 of the token
  std::map<std::string, Remembered<bool>> allowances_ GUARDED_BY(mutex_);  // by SHA-256 of user and question
};

}  // namespace muster::kube
