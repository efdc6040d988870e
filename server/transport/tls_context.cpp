#include "server/transport/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "base/freed_by.h"
#include "server/transport/metered_socket.h"

namespace muster::server {

namespace {

// The oldest of OpenSSL's queued errors, which is the cause of the others.
std::string openssl_reason() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown OpenSSL error";
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "OpenSSL error " + std::to_string(code);
}

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using X509Ptr = std::unique_ptr<X509, FreedBy<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;

// OpenSSL refuses a null pointer even for zero bytes, and an empty view can have a null pointer.
BioPtr reader_of(std::string_view text) {
  return BioPtr(
      BIO_new_mem_buf(text.empty() ? "" : text.data(), static_cast<int>(std::min<size_t>(text.size(), INT_MAX))));
}

// How often one call can read from the socket. The whole handshake of a client that waits for answers needs
// three reads.
constexpr int kReadsOfHandshake = 4;
constexpr int kReadsOfCall = 2;  // a record, and the remainder of it

// Key updates, alerts and refused renegotiations on one connection. A client needs none: keys last for 2^24
// records.
constexpr int kMaxMessagesWithoutData = 64;

class TlsChannel final : public Channel {
 public:
  // Takes ownership of `ssl`, which has no socket yet.
  TlsChannel(FileDescriptor socket, SSL* ssl, std::shared_ptr<const ClientCertificates> clients)
      : Channel(std::move(socket)), ssl_(ssl), clients_(std::move(clients)) {
    meter_.fd = fd();
    SSL_set_msg_callback(ssl, count_message);
    SSL_set_msg_callback_arg(ssl, this);
  }
  // Must be called first. False if no memory is left.
  bool open(bool identified) {
    BIO* bio = new_metered_bio(meter_);
    if (bio == nullptr) return false;
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
    if (identified) ask_for_any_certificate(*ssl_);
    return clients_ == nullptr || clients_->current()->ask(*ssl_);
  }

  IoResult handshake() override {
    begin_call(kReadsOfHandshake);
    const auto result = outcome_of(SSL_do_handshake(ssl_.get()), 0);
    established_ = result.state == IoState::kDone;
    return result;
  }
  IoResult read(std::span<char> into) override {
    begin_call(kReadsOfCall);
    size_t bytes = 0;
    const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    const auto result = outcome_of(done, bytes);
    if (messages_ <= kMaxMessagesWithoutData) return result;
    error_ = "more than " + std::to_string(kMaxMessagesWithoutData) + " TLS messages without data";
    broken_ = true;
    return {IoState::kAbused};
  }
  IoResult write(std::string_view text) override {
    begin_call(kReadsOfCall);
    size_t bytes = 0;
    const int done = SSL_write_ex(ssl_.get(), text.data(), text.size(), &bytes);
    return outcome_of(done, bytes);
  }
  bool has_buffered() const override { return SSL_has_pending(ssl_.get()) == 1; }
  std::string stranger_because() override {
    if (clients_ == nullptr) return "";
    auto authorities = clients_->current();
    if (authorities != judges_) {
      ERR_clear_error();
      stranger_because_ = authorities->stranger_because(*ssl_);
      judges_ = std::move(authorities);
    }
    return stranger_because_;
  }
  PeerCertificate judged_by(const ClientAuthorities& authorities) override { return authorities.judge(*ssl_); }
  void finish_writing() override {
    ERR_clear_error();
    if (!broken_ && SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    ::shutdown(fd(), SHUT_WR);
  }

 private:
  void begin_call(int reads) {
    ERR_clear_error();
    meter_.begin_call(reads);
  }

  IoResult outcome_of(int done, size_t bytes) {
    if (done == 1) return {IoState::kDone, bytes};
    switch (SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ:
        return {meter_.held_back || std::exchange(message_came_, false) ? IoState::kAgain : IoState::kWantRead};
      case SSL_ERROR_WANT_WRITE:
        return {IoState::kWantWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {IoState::kEnd};
      case SSL_ERROR_SYSCALL:
        error_ = "connection reset";
        break;
      default:
        error_ = openssl_reason();
    }
    broken_ = true;  // OpenSSL forbids SSL_shutdown after either of these
    return {IoState::kFailed};
  }

  // OpenSSL's own answers are also counted: they are the only sign of a refused renegotiation.
  static void count_message(int, int, int content_type, const void*, size_t, SSL*, void* channel) {
    auto& self = *static_cast<TlsChannel*>(channel);
    if (!self.established_ || (content_type != SSL3_RT_HANDSHAKE && content_type != SSL3_RT_ALERT)) return;
    ++self.messages_;
    self.message_came_ = true;
  }

  ReadMeter meter_;  // outlives the BIO in ssl_
  std::unique_ptr<SSL, FreedBy<SSL_free>> ssl_;
  const std::shared_ptr<const ClientCertificates> clients_;  // null: no client certificate is requested
  std::shared_ptr<const ClientAuthorities> judges_;          // whose judgement this is:
  std::string stranger_because_;
  bool broken_ = false;
  bool established_ = false;
  bool message_came_ = false;  // OpenSSL can stop after a message with more bytes available
  int messages_ = 0;
};

Outcome<> set_min_version(SSL_CTX* context, const std::string& name) {
  int version = 0;
  if (name.empty() || name == "VersionTLS12") version = TLS1_2_VERSION;
  if (name == "VersionTLS13") version = TLS1_3_VERSION;
  if (version == 0) {
    return fail("tls.minVersion: unknown or insecure value \"" + name + "\": use VersionTLS12 or VersionTLS13");
  }
  SSL_CTX_set_min_proto_version(context, version);
  return Done{};
}

Outcome<> set_cipher_suites(SSL_CTX* context, const TlsOptions& options) {
  std::string list = "ECDHE+AESGCM:ECDHE+CHACHA20";
  if (!options.cipher_suites.empty()) {
    if (options.min_version == "VersionTLS13") {
      return fail(
          "tls.cipherSuites: may not be given together with minVersion VersionTLS13, "
          "whose suites cannot be chosen: leave it out");
    }
    list.clear();
    for (const auto& name : options.cipher_suites) {
      const std::string openssl_name = OPENSSL_cipher_name(name.c_str());
      const bool tls13 = name.find("_WITH_") == std::string::npos;
      if (tls13 || openssl_name == "(NONE)") {
        return fail("tls.cipherSuites: \"" + name + "\" is not a TLS 1.2 cipher suite that this build knows; " +
                    "use IANA names such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256");
      }
      list += (list.empty() ? "" : ":") + openssl_name;
    }
  }
  if (SSL_CTX_set_cipher_list(context, list.c_str()) != 1) {
    return fail("tls.cipherSuites: OpenSSL does not accept " + list + ": " + openssl_reason());
  }
  return Done{};
}

// Everything behind the first certificate of the chain.
Outcome<> add_intermediates(SSL_CTX* context, BIO* chain) {
  while (X509Ptr certificate{PEM_read_bio_X509(chain, nullptr, nullptr, nullptr)}) {
    if (SSL_CTX_add1_chain_cert(context, certificate.get()) != 1) {
      return fail("the certificate chain is not usable: " + openssl_reason());
    }
  }
  ERR_clear_error();  // "no start line" is how the end of a PEM text is reported
  return Done{};
}

}  // namespace

Result<TlsContext::ContextPtr> TlsContext::make_context() const {
  ContextPtr context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return fail("cannot make a TLS context: " + openssl_reason());
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // Buffers only while bytes are in them: an idle connection costs about 10 kB instead of 40.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A record without data ends a call, unless another record follows in the buffer.
  SSL_CTX_clear_mode(context.get(), SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_read_ahead(context.get(), 1);
  if (auto done = set_min_version(context.get(), options_.min_version); !done) return fail(done.error().message);
  if (auto done = set_cipher_suites(context.get(), options_); !done) return fail(done.error().message);
  return context;
}

Result<std::shared_ptr<TlsContext>> TlsContext::create(TlsOptions options) {
  std::shared_ptr<TlsContext> result(new TlsContext(std::move(options)));
  if (auto context = result->make_context(); !context) return fail(context.error().message);
  return result;
}

Outcome<> TlsContext::set_certificate(std::string_view chain_pem, std::string_view key_pem) {
  auto context = make_context();
  if (!context) return fail(context.error().message);
  SSL_CTX* made = context->get();
  ERR_clear_error();

  const auto chain = reader_of(chain_pem);
  const X509Ptr leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  if (!leaf) return fail("the serving certificate is not a PEM certificate: " + openssl_reason());
  // No passphrase callback: an encrypted key must fail, not wait for input on a terminal.
  char no_passphrase[] = "";
  const KeyPtr key(PEM_read_bio_PrivateKey(reader_of(key_pem).get(), nullptr, nullptr, no_passphrase));
  if (!key) return fail("the serving key is not an unencrypted PEM private key: " + openssl_reason());

  if (SSL_CTX_use_certificate(made, leaf.get()) != 1)
    return fail("the serving certificate is not usable: " + openssl_reason());
  if (auto done = add_intermediates(made, chain.get()); !done) return done;
  if (SSL_CTX_use_PrivateKey(made, key.get()) != 1 || SSL_CTX_check_private_key(made) != 1) {
    return fail("the serving key does not belong to the serving certificate: " + openssl_reason());
  }
  MutexLock lock(mutex_);
  current_ = std::move(*context);
  return Done{};
}

TlsContext::ContextPtr TlsContext::current() const {
  MutexLock lock(mutex_);
  return current_;
}

std::unique_ptr<Channel> TlsContext::accept(FileDescriptor socket, std::shared_ptr<const ClientCertificates> clients,
                                            bool identified) const {
  const auto context = current();
  if (!context) return nullptr;
  SSL* ssl = SSL_new(context.get());
  if (!ssl) return nullptr;
  auto channel = std::make_unique<TlsChannel>(std::move(socket), ssl, std::move(clients));
  if (!channel->open(identified)) return nullptr;
  return channel;
}

}  // namespace muster::server
