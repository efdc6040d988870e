// The persons behind ReaderSessions (api/meta/reader_session.h), by the word of the API server: one GET says who has
// created the session of a token. What makes that true is an admission policy, so no session is believed before a
// dry-run create in another user's name was refused by it; a refusal is remembered for a minute.
//
// Persons delete their sessions when they are done. Those of clients that died are deleted here when they are over,
// some at a time, while sessions are in use: nothing runs without requests.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/api.h"

namespace muster::kube {

// Of the error where nothing proves who creates sessions: the admission policy is missing, or does not act yet.
inline constexpr std::string_view kUnguardedReason = "UnguardedSessions";

// Thread-safe.
class ReaderSessions {
 public:
  // muster needs get, list and delete on readersessions, and create in `own_namespace`.
  ReaderSessions(KubeApi& api, const Clock& clock, std::string own_namespace)
      : api_(api), clock_(clock), own_namespace_(std::move(own_namespace)) {}

  // The UserInfo of the creator; null: there is no such session, or it is over. Blocks for one or two requests. An
  // error when the API server gave no answer, or when nothing proves who creates sessions.
  KubeApi::Answer user_of(std::string_view token, std::stop_token stop) EXCLUDES(mutex_);

 private:
  static constexpr Duration kRememberGuard = std::chrono::minutes(1);
  static constexpr Duration kSweepEvery = std::chrono::seconds(30);
  static constexpr int kSweptAtOnce = 20;

  Outcome<StatusError> check_guard(std::stop_token stop) EXCLUDES(mutex_);
  void sweep(std::stop_token stop) EXCLUDES(mutex_);

  KubeApi& api_;
  const Clock& clock_;
  const std::string own_namespace_;

  Mutex mutex_;
  MonotonicTime guarded_until_ GUARDED_BY(mutex_){};
  MonotonicTime sweep_at_ GUARDED_BY(mutex_){};
  std::string sweep_from_ GUARDED_BY(mutex_);  // where the list goes on; empty: at its beginning
};

}  // namespace muster::kube
