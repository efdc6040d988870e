// In whose name muster is asked: the person's own, by a ReaderSession (api/meta/reader_session.h). The person's
// credentials are shown to the API server only.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/api.h"

namespace muster::commands {

// 64 hexadecimal digits that cannot be guessed; empty: the system gives no random numbers.
std::string random_secret();

// Who the API server says that the caller is, and when by its clock; nullopt: it does not say when.
struct SelfReview {
  nlohmann::json user;  // a UserInfo
  std::optional<TimePoint> at;
};
Result<SelfReview, kube::StatusError> review_self(kube::KubeApi& api);

// Who the API server says that the person is, and the time of its clock at that moment.
struct Caller {
  nlohmann::json user;  // a UserInfo
  Now here;             // of this machine
  TimePoint there;      // of the API server; `here` where it does not say

  // The API server's time at a moment of this machine.
  TimePoint server_time(Now now) const { return there + (now.monotonic - here.monotonic); }
};
Result<Caller, kube::StatusError> ask_for_caller(kube::KubeApi& api, const Clock& clock);

// One session of the caller in a namespace; deleted with it. Movable, so that a watch can replace it.
class OwnSession {
 public:
  // The error says which right is missing.
  static Result<OwnSession> open(kube::KubeApi& api, const Caller& caller, const std::string& ns);
  OwnSession(OwnSession&& other) noexcept;
  OwnSession& operator=(OwnSession&& other) noexcept;
  ~OwnSession() { close(); }

  const std::string& token() const { return token_; }

 private:
  OwnSession(kube::KubeApi& api, std::string ns, std::string name, const std::string& secret);
  void close();

  kube::KubeApi* api_;  // outlives it; null: nothing is to be deleted
  std::string ns_, name_, token_;
};

}  // namespace muster::commands
