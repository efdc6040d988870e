// Whether the bearer of a token may do something, by the API server's word: TokenReview
// says who it is, SubjectAccessReview what they may. muster's metrics are behind it, as
// those of every controller-runtime program are (metrics/filters), and `muster explain`.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

#include "api/meta/authenticated_user.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/api.h"

namespace muster::kube {

enum class AccessDecision {
  kAllow,
  kUnauthenticated,  // nobody's token: 401
  kForbidden,        // somebody's who lacks the right: 403
};

// What somebody wants to do: to a non-resource URL, or, where `path` is empty, to objects.
struct AccessQuestion {
  std::string verb;
  std::string path{};
  std::string group{}, resource{};
  std::string ns{};    // empty: in all namespaces
  std::string name{};  // empty: to all objects
  std::string subresource{};
};

// Thread-safe. Answers are remembered: who a token is for 1 minute, an allowance for
// 5 minutes, a refusal for 30 s. Tokens themselves are not kept, only their digests.
class Authorizer {
 public:
  static constexpr Duration kRememberToken = std::chrono::minutes(1);
  static constexpr Duration kRememberAllow = std::chrono::minutes(5);
  static constexpr Duration kRememberDeny = std::chrono::seconds(30);

  // muster itself needs create on tokenreviews and subjectaccessreviews
  // (ClusterRole system:auth-delegator).
  //
  // With an audience, only tokens that were made for it count: whoever gets hold of one
  // can do nothing with it elsewhere, and tokens for the API server are refused. Without, tokens
  // for the API server count. `ending` ends questions that are under way, of callers who have no
  // stop of their own.
  Authorizer(KubeApi& api, const Clock& clock, std::string audience = {}, std::stop_token ending = {})
      : api_(api), clock_(clock), audience_(std::move(audience)), ending_(std::move(ending)) {}

  // Blocks for two requests when nothing is remembered. An error means that the API
  // server gave no answer: let nobody in, but say 500 and not 403.
  Result<AccessDecision, StatusError> decide(const std::string& token, const AccessQuestion& question,
                                             std::stop_token stop = {}) EXCLUDES(mutex_);
  // The same for a user who is known already: one request when nothing is remembered.
  Result<AccessDecision, StatusError> decide(const AuthenticatedUser& user, const AccessQuestion& question,
                                             std::stop_token stop = {}) EXCLUDES(mutex_);

 private:
  // Strangers may send any number of tokens; past this many, the memory starts anew.
  static constexpr size_t kMaxRemembered = 4096;

  template <class V>
  struct Remembered {
    V value;
    MonotonicTime until;
  };
  // The user as TokenReview describes it, as text; empty for nobody.
  using User = std::string;

  bool is_for_audience(const nlohmann::json& review) const;
  Result<User, StatusError> user_of(const std::string& token, std::stop_token stop) EXCLUDES(mutex_);
  Result<bool, StatusError> allowed(const User& user, const AccessQuestion& question, std::stop_token stop)
      EXCLUDES(mutex_);

  KubeApi& api_;
  const Clock& clock_;
  const std::string audience_;
  const std::stop_token ending_;

  Mutex mutex_;
  std::map<std::string, Remembered<User>> users_ GUARDED_BY(mutex_);       // by SHA-256 of the token
  std::map<std::string, Remembered<bool>> allowances_ GUARDED_BY(mutex_);  // by SHA-256 of user and question
};

}  // namespace muster::kube
