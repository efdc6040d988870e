#include "kube/authorizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/json.h"
#include "api/meta/reader_session.h"
#include "base/encoding.h"

namespace muster::kube {
namespace {

using nlohmann::json;

KubeRequest review(std::string path, std::string_view kind, std::string_view version, json spec) {
  KubeRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.body = to_text({{"apiVersion", version}, {"kind", kind}, {"spec", std::move(spec)}});
  request.timeout = std::chrono::seconds(10);
  request.repeatable = true;  // reviews store no object
  return request;
}

json attributes_of(const AccessQuestion& question) {
  if (!question.path.empty()) return {{"nonResourceAttributes", {{"path", question.path}, {"verb", question.verb}}}};
  json attributes = {{"verb", question.verb}, {"group", question.group}, {"resource", question.resource}};
  if (!question.ns.empty()) attributes["namespace"] = question.ns;
  if (!question.name.empty()) attributes["name"] = question.name;
  if (!question.subresource.empty()) attributes["subresource"] = question.subresource;
  return {{"resourceAttributes", std::move(attributes)}};
}

template <class Map>
auto recall(const Map& map, const std::string& key, MonotonicTime now) {
  const auto found = map.find(key);
  using Value = std::optional<decltype(found->second.value)>;
  return found != map.end() && now < found->second.until ? Value(found->second.value) : Value();
}

}  // namespace

Result<AccessDecision, StatusError> Authorizer::decide(const std::string& token, const AccessQuestion& question,
                                                       std::stop_token stop) {
  if (token.empty()) return AccessDecision::kUnauthenticated;
  if (!stop.stop_possible()) stop = ending_;
  const auto user = user_of(token, stop);
  if (!user.ok()) return fail_with(user.error());
  if (user->empty()) return AccessDecision::kUnauthenticated;
  const auto allow = allowed(*user, question, stop);
  if (!allow.ok()) return fail_with(allow.error());
  return *allow ? AccessDecision::kAllow : AccessDecision::kForbidden;
}

Result<AccessDecision, StatusError> Authorizer::decide(const AuthenticatedUser& user, const AccessQuestion& question,
                                                       std::stop_token stop) {
  if (user.username.empty()) return AccessDecision::kUnauthenticated;
  if (!stop.stop_possible()) stop = ending_;
  const json known = {{"username", user.username}, {"uid", user.uid}, {"groups", user.groups}, {"extra", user.extra}};
  const auto allow = allowed(to_text(known), question, stop);
  if (!allow.ok()) return fail_with(allow.error());
  return *allow ? AccessDecision::kAllow : AccessDecision::kForbidden;
}

Result<Authorizer::User, StatusError> Authorizer::user_of(const std::string& token, std::stop_token stop) {
  const std::string digest = sha256_hex(token);
  {
    const MutexLock lock(mutex_);
    if (auto known = recall(users_, digest, clock_.now().monotonic)) return std::move(*known);
  }
  const auto found = look_up(token, stop);
  if (!found) return fail_with(found.error());
  User user = found->is_null() ? "" : to_text(*found);
  const MutexLock lock(mutex_);
  if (users_.size() >= kMaxRemembered) users_.clear();
  users_.insert_or_assign(digest, Remembered<User>{user, clock_.now().monotonic + kRememberToken});
  return user;
}

KubeApi::Answer Authorizer::look_up(const std::string& token, std::stop_token stop) {
  if (is_reader_session_token(token)) return sessions_ ? sessions_->user_of(token, stop) : json();
  json spec = {{"token", token}};
  if (!audience_.empty()) spec["audiences"] = {audience_};
  auto answer = api_.send(
      review("/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview", "authentication.k8s.io/v1", std::move(spec)),
      stop);
  if (!answer) return answer;
  const bool known = bool_at(*answer, {"status", "authenticated"}) && is_for_audience(*answer);
  return known ? object_at(*answer, {"status", "user"}) : json();
}

// An authenticator without support for audiences answers without audiences; this proves no audience.
bool Authorizer::is_for_audience(const json& review) const {
  if (audience_.empty()) return true;
  const std::vector<std::string> audiences = strings_at(review, {"status", "audiences"});
  return std::find(audiences.begin(), audiences.end(), audience_) != audiences.end();
}

Result<bool, StatusError> Authorizer::allowed(const User& user, const AccessQuestion& question, std::stop_token stop) {
  json spec = attributes_of(question);
  const std::string digest = sha256_hex(to_text(spec) + user);
  {
    const MutexLock lock(mutex_);
    if (auto known = recall(allowances_, digest, clock_.now().monotonic)) return *known;
  }
  const auto parsed = parse_json(user);
  if (!parsed.ok()) return fail_with(unanswered(kUnreadableReason, "TokenReview: " + parsed.error().message));
  spec["user"] = string_at(*parsed, {"username"});
  spec["uid"] = string_at(*parsed, {"uid"});
  spec["groups"] = array_at(*parsed, {"groups"});
  spec["extra"] = object_at(*parsed, {"extra"});
  const auto answer = api_.send(review("/apis/authorization.k8s.io/v1/subjectaccessreviews", "SubjectAccessReview",
                                       "authorization.k8s.io/v1", std::move(spec)),
                                stop);
  if (!answer.ok()) return fail_with(answer.error());
  const bool allow = bool_at(*answer, {"status", "allowed"}) && !bool_at(*answer, {"status", "denied"});
  const MutexLock lock(mutex_);
  if (allowances_.size() >= kMaxRemembered) allowances_.clear();
  allowances_.insert_or_assign(
      digest, Remembered<bool>{allow, clock_.now().monotonic + (allow ? kRememberAllow : kRememberDeny)});
  return allow;
}

}  // namespace muster::kube
