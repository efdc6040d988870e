#include "kube/transport/credentials.h"

#include "base/encoding.h"

namespace muster::kube {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds(10);

// `Text`: SecretText for a key, otherwise std::string.
template <class Text>
Outcome<> load(const FileOrData& source, Text& into) {
  into = source.data.view();
  if (source.path.empty()) return Done{};
  const auto text = read_secret_file(source.path);
  if (!text.ok()) return fail(text.error().message);
  if (text->empty()) return fail(source.path + " is empty");
  into = text->view();
  return Done{};
}

std::string trimmed(std::string text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.erase(text.find_last_not_of(kSpace) + 1);
  text.erase(0, text.find_first_not_of(kSpace));
  return text;
}

}  // namespace

Credentials::Credentials(ClusterAccess access, const Clock& clock, std::function<void(const std::string&)> on_problem)
    : access_(std::move(access)), clock_(clock), on_problem_(std::move(on_problem)) {}

Result<Credentials::Files> Credentials::read_files() const {
  Files files;
  for (const auto& done :
       {load(access_.certificate_authority, files.pem.ca), load(access_.client_certificate, files.pem.certificate),
        load(access_.client_key, files.pem.key), load(access_.token, files.token)}) {
    if (!done.ok()) return fail(done.error().message);
  }
  files.token = trimmed(std::move(files.token));
  if (files.token.empty() && !access_.token.empty()) return fail(access_.token.path + " holds no token");
  // A header is one line; with more lines the author of the file could forge other headers.
  if (files.token.find_first_of("\r\n") != std::string::npos)
    return fail(access_.token.path + " holds more than one line");
  return files;
}

Outcome<> Credentials::refresh_files(Now now) {
  if (files_read_ && now.monotonic - *files_read_ < kReadAgainAfter) return Done{};
  auto files = read_files();
  if (files.ok()) {
    // An incomplete certificate file must not replace good certificates.
    if (auto tls = TlsMaterial::make(files->pem); !tls.ok()) files = fail(tls.error().message);
  }
  if (!files.ok()) {
    if (!files_) return fail(access_.source + ": " + files.error().message);
    files_read_ = now.monotonic - kReadAgainAfter + kRetryAfter;
    on_problem_(access_.source + ": " + files.error().message + "; the previous credentials stay in use");
    return Done{};
  }
  files_ = std::move(*files);
  files_read_ = now.monotonic;
  return Done{};
}

Outcome<> Credentials::refresh_plugin(Now now) {
  if (!access_.exec) return Done{};
  if (plugin_ && (!plugin_->expires || now.wall < *plugin_->expires)) return Done{};
  auto credential = run_exec_plugin(access_, files_->pem.ca, clock_);
  // An expired credential is of no use: unlike a file's, its failure is the caller's.
  if (!credential.ok()) return fail(credential.error().message);
  plugin_ = std::move(*credential);
  return Done{};
}

Outcome<> Credentials::assemble() {
  TlsPem pem = files_->pem;
  std::string token = files_->token;
  if (plugin_) {
    if (!plugin_->certificate.empty()) {
      pem.certificate = plugin_->certificate;
      pem.key = plugin_->key;
    }
    if (!plugin_->token.empty()) token = plugin_->token;
  }
  Identity next;
  if (!token.empty()) {
    next.authorization = "Bearer " + token;
  } else if (!access_.username.empty()) {
    next.authorization = "Basic " + base64_encode(access_.username + ":" + access_.password);
  }
  if (identity_ && identity_->authorization == next.authorization && identity_->tls->pem() == pem) return Done{};
  if (identity_ && identity_->tls->pem() == pem) {
    next.tls = identity_->tls;
  } else {
    auto tls = TlsMaterial::make(std::move(pem));
    if (!tls.ok()) return fail(access_.source + ": " + tls.error().message);
    next.tls = std::move(*tls);
  }
  next.generation = identity_ ? identity_->generation + 1 : 1;
  identity_ = std::move(next);
  return Done{};
}

Result<Identity> Credentials::current() {
  const MutexLock lock(mutex_);
  const Now now = clock_.now();
  if (auto done = refresh_files(now); !done.ok()) return fail(done.error().message);
  if (auto done = refresh_plugin(now); !done.ok()) return fail(done.error().message);
  if (auto done = assemble(); !done.ok()) return fail(done.error().message);
  return *identity_;
}

void Credentials::rejected(const Identity& identity) {
  const MutexLock lock(mutex_);
  if (!identity_ || identity_->generation != identity.generation) return;
  files_read_.reset();
  plugin_.reset();
}

}  // namespace muster::kube
