#include "server/transport/metered_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <memory>

namespace muster::server {
namespace {

ReadMeter& meter_of(BIO* bio) {
  return *static_cast<ReadMeter*>(BIO_get_data(bio));
}

bool blocked() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int read_socket(BIO* bio, char* into, int size) {
  ReadMeter& meter = meter_of(bio);
  BIO_clear_retry_flags(bio);
  if (meter.reads_left == 0) {
    meter.held_back = true;
    BIO_set_retry_read(bio);
    return -1;
  }
  --meter.reads_left;
  const auto got = ::recv(meter.fd, into, static_cast<size_t>(size), 0);
  if (got < 0 && blocked()) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(meter_of(bio).fd, bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && blocked()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long control(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:  // a socket buffers no bytes
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default:
      return 0;
  }
}

int create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

BIO_METHOD* make_method() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "metered socket");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, read_socket);
  BIO_meth_set_write(method, write_socket);
  BIO_meth_set_ctrl(method, control);
  BIO_meth_set_create(method, create);
  return method;
}

}  // namespace

BIO* new_metered_bio(ReadMeter& meter) {
  static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> method(make_method(), BIO_meth_free);
  BIO* bio = method ? BIO_new(method.get()) : nullptr;
  if (bio != nullptr) BIO_set_data(bio, &meter);
  return bio;
}

}  // namespace muster::server
