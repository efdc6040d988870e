// A blocking TLS client for load: one connection, one request at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct ssl_st;

namespace muster::bench {

class LoadClient {
 public:
  explicit LoadClient(uint16_t port);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  bool connected() const { return connected_; }
  // Sends one request and reads its answer; whether that was a 200.
  bool exchange(const std::string& request);

 private:
  int fd_ = -1;
  ssl_st* ssl_ = nullptr;
  bool connected_ = false;
};

// The bytes of a POST with this body.
std::string post_request(const std::string& path, const std::string& body);

}  // namespace muster::bench
