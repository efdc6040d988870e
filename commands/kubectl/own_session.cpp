#include "commands/kubectl/own_session.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/reader_session.h"
#include "api/meta/time.h"
#include "base/encoding.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr size_t kSecretBytes = 32;

std::string sentence_of(const kube::StatusError& error, const std::string& ns) {
  if (error.forbidden())
    return "you cannot create readersessions.muster.batch in namespace " + ns +
           ", which the ClusterRoles muster-batch-user and view let you: " + error.message;
  if (error.code == 404 && !error.not_found())
    return "this cluster has no readersessions.muster.batch: its muster is older than this program";
  return error.message;
}

}  // namespace

std::string random_secret() {
  std::array<char, kSecretBytes> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0) return "";
  // The digest writes the bytes as text and keeps their randomness.
  return sha256_hex({bytes.data(), bytes.size()});
}

Result<SelfReview, kube::StatusError> review_self(kube::KubeApi& api) {
  const json review = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  const auto answer = api.create({"authentication.k8s.io", "v1", "selfsubjectreviews", false, ""}, "", review);
  if (!answer) return fail_with(answer.error());
  SelfReview self{object_at(*answer, {"status", "userInfo"}), std::nullopt};
  const json* text = find_path(*answer, {"metadata", "creationTimestamp"});
  const auto time = parse_time(text == nullptr ? json() : *text);
  if (time && !time->is_zero()) self.at = to_time_point(*time);
  return self;
}

Result<Caller, kube::StatusError> ask_for_caller(kube::KubeApi& api, const Clock& clock) {
  auto self = review_self(api);
  if (!self) return fail_with(self.error());
  const Now here = clock.now();
  return Caller{std::move(self->user), here, self->at.value_or(here.wall)};
}

OwnSession::OwnSession(kube::KubeApi& api, std::string ns, std::string name, const std::string& secret)
    : api_(&api), ns_(std::move(ns)), name_(std::move(name)), token_(to_text(ReaderSessionToken{ns_, name_, secret})) {}

OwnSession::OwnSession(OwnSession&& other) noexcept
    : api_(std::exchange(other.api_, nullptr)),
      ns_(std::move(other.ns_)),
      name_(std::move(other.name_)),
      token_(std::move(other.token_)) {}

OwnSession& OwnSession::operator=(OwnSession&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(ns_, other.ns_);
  std::swap(name_, other.name_);
  std::swap(token_, other.token_);
  return *this;
}

Result<OwnSession> OwnSession::open(kube::KubeApi& api, const Caller& caller, const std::string& ns) {
  const std::string secret = random_secret();
  if (secret.empty()) return fail("the system gives no random numbers for a session");
  const auto created = api.create(kube::resource_of(kReaderSessions), ns, reader_session(caller.user, secret));
  if (!created) return fail(sentence_of(created.error(), ns));
  return OwnSession(api, ns, std::string(string_at(*created, {"metadata", "name"})), secret);
}

// muster deletes it where this fails.
void OwnSession::close() {
  if (api_ != nullptr) (void)api_->remove(kube::resource_of(kReaderSessions), ns_, name_);
  api_ = nullptr;
}

}  // namespace muster::commands
