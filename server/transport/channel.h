// A non-blocking byte stream to one peer: plain TCP here, TLS in tls_context.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/transport/http.h"

namespace muster::server {

// A file descriptor that is closed with its owner.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset();

 private:
  int release();

  int fd_ = -1;
};

enum class IoState {
  kDone,       // `bytes` were moved, at least one; for a handshake: it is complete
  kWantRead,   // go on when the socket is readable
  kWantWrite,  // go on when it is writable
  kAgain,      // what came held nothing for the caller; go on when the others have had their turn
  kEnd,        // the peer has closed in good order
  kFailed,     // broken connection or protocol; see error()
  kAbused,     // the peer keeps the connection busy without sending anything; see error()
};

struct IoResult {
  IoState state;
  size_t bytes = 0;
};

// Used by one thread at a time. Nothing here ever waits.
class Channel : public HttpPeer {
 public:
  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}
  ~Channel() override = default;

  int fd() const { return socket_.get(); }

  virtual IoResult handshake() = 0;
  virtual IoResult read(std::span<char> into) = 0;
  virtual IoResult write(std::string_view bytes) = 0;
  // Whether bytes have come that epoll does not know of any more.
  virtual bool has_buffered() const = 0;
  // After the handshake: why the listener does not trust the peer; empty when it does, or when the listener requests no
  // certificates.
  virtual std::string stranger_because() { return ""; }
  // Nothing is shown without TLS, or where the listener asks for no certificate.
  PeerCertificate judged_by(const ClientAuthorities& /*authorities*/) override { return {}; }
  // Says that nothing more will be written. Afterwards only discard().
  virtual void finish_writing() = 0;
  // Takes what still comes from the socket and throws it away.
  IoResult discard();

  const std::string& error() const { return error_; }

 protected:
  std::string error_;

 private:
  FileDescriptor socket_;
};

std::unique_ptr<Channel> make_plain_channel(FileDescriptor socket);

}  // namespace muster::server
