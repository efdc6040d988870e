#include "server/transport/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace muster::server {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int FileDescriptor::release() {
  return std::exchange(fd_, -1);
}

namespace {

IoResult outcome_of(ssize_t moved, IoState when_blocked, std::string& error) {
  if (moved > 0) return {IoState::kDone, static_cast<size_t>(moved)};
  if (moved == 0) return {IoState::kEnd};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {when_blocked};
  error = std::strerror(errno);
  return {IoState::kFailed};
}

class PlainChannel final : public Channel {
 public:
  using Channel::Channel;

  IoResult handshake() override { return {IoState::kDone}; }
  IoResult read(std::span<char> into) override {
    return outcome_of(::recv(fd(), into.data(), into.size(), 0), IoState::kWantRead, error_);
  }
  IoResult write(std::string_view bytes) override {
    return outcome_of(::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), IoState::kWantWrite, error_);
  }
  bool has_buffered() const override { return false; }
  void finish_writing() override { ::shutdown(fd(), SHUT_WR); }
};

}  // namespace

IoResult Channel::discard() {
  std::array<char, 64 * 1024> scratch;
  return outcome_of(::recv(fd(), scratch.data(), scratch.size(), 0), IoState::kWantRead, error_);
}

std::unique_ptr<Channel> make_plain_channel(FileDescriptor socket) {
  return std::make_unique<PlainChannel>(std::move(socket));
}

}  // namespace muster::server
