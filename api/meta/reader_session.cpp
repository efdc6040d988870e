#include "api/meta/reader_session.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/time.h"
#include "base/encoding.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "muster-session/";
constexpr size_t kSecretDigits = 64;
// The clocks of muster and of the API server differ by less.
constexpr Duration kSkew = std::chrono::minutes(1);

bool is_secret(std::string_view text) {
  return text.size() == kSecretDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The beginning of time for one that does not say: it is over.
TimePoint created(const json& session) {
  const json* text = find_path(session, {"metadata", "creationTimestamp"});
  const auto time = parse_time(text == nullptr ? json() : *text);
  return time && !time->is_zero() ? to_time_point(*time) : TimePoint();
}

// The part before the next slash, which goes.
std::string_view take_part(std::string_view& text) {
  const size_t end = std::min(text.find('/'), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

std::string to_text(const ReaderSessionToken& token) {
  return std::string(kPrefix) + token.ns + "/" + token.name + "/" + token.secret;
}

bool is_reader_session_token(std::string_view text) {
  return text.starts_with(kPrefix);
}

std::optional<ReaderSessionToken> read_reader_session_token(std::string_view text) {
  if (!is_reader_session_token(text)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  ReaderSessionToken token;
  token.ns = take_part(text);
  token.name = take_part(text);
  token.secret = text;
  if (!is_dns1123_label(token.ns).empty() || !is_dns1123_subdomain(token.name).empty() || !is_secret(token.secret))
    return std::nullopt;
  return token;
}

json reader_session(const json& user, std::string_view secret) {
  return {{"apiVersion", kReaderSessions.api_version},
          {"kind", kReaderSessions.kind},
          {"metadata", {{"generateName", "reader-"}}},
          {"spec", {{"user", user}, {"secretHash", sha256_hex(secret)}}}};
}

bool is_over(const json& session, TimePoint now) {
  return now >= created(session) + kReaderSessionLife;
}

json user_of_reader_session(const json& session, std::string_view secret, TimePoint now) {
  if (is_over(session, now) || created(session) > now + kSkew) return nullptr;
  if (find_path(session, {"metadata", "deletionTimestamp"}) != nullptr) return nullptr;
  if (string_at(session, {"spec", "secretHash"}) != sha256_hex(secret)) return nullptr;
  const json* user = find_path(session, {"spec", "user"});
  return user == nullptr || string_at(*user, {"username"}).empty() ? json() : *user;
}

}  // namespace muster
