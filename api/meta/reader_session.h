// A ReaderSession (manifests/crds/readersession.yaml): ten minutes in which a person asks muster with the own identity.
// Whoever creates it writes into it who they are, which an admission policy compares with the user of the request, and
// the digest of a secret. The person then shows muster the token, which names the session and has the secret; muster
// reads the session from the API server. So no credentials of a person ever reach muster, and no certificate or
// proxied connection has to say who asks. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta/resource_type.h"
#include "base/clock.h"

namespace muster {

inline constexpr ResourceType kReaderSessions{"muster.batch",  "v1alpha1", "readersessions",
                                              "ReaderSession", true,       "muster.batch/v1alpha1"};
// What the admission policy says to another user; muster looks for it to know that the policy acts.
inline constexpr const char* kReaderSessionRefusal =
    "spec.user must be the user of the request: a session is made for oneself";
inline constexpr Duration kReaderSessionLife = std::chrono::minutes(10);

struct ReaderSessionToken {
  std::string ns, name, secret;
};
// "muster-session/team-a/reader-x7k2p/<secret>".
std::string to_text(const ReaderSessionToken& token);
// Whether the text is meant to be such a token; whether it can be one says the next.
bool is_reader_session_token(std::string_view text);
// nullopt: it is none, or names what no session can be named.
std::optional<ReaderSessionToken> read_reader_session_token(std::string_view text);

// The object to create, without a namespace: the API server completes the name. `user`: the UserInfo of a
// SelfSubjectReview.
nlohmann::json reader_session(const nlohmann::json& user, std::string_view secret);
// Its user, if the session is of this secret, is not being deleted and is not over; null otherwise.
nlohmann::json user_of_reader_session(const nlohmann::json& session, std::string_view secret, TimePoint now);
// Whether its use has ended.
bool is_over(const nlohmann::json& session, TimePoint now);

}  // namespace muster
