// The one place that knows that cpp-httplib changes: process_request gained
// parameters (0.11 has four, 0.18 has eight), Stream other pure functions. What this
// version has is asked of the compiler, not of a version number.
// Included by .cpp files only, because it brings httplib.h along.
#pragma once

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace muster {

// A request to read and an answer to collect, in memory. Without `override`, because
// which of the queries are virtual differs between versions.
class MemoryStream : public httplib::Stream {
 public:
  MemoryStream(std::string_view head, std::string_view body) : head_(head), body_(body) {}

  bool is_readable() const { return !head_.empty() || !body_.empty(); }
  bool is_writable() const { return true; }
  bool wait_readable() const { return is_readable(); }
  bool wait_writable() const { return true; }

  ssize_t read(char* into, size_t size) {
    auto& from = head_.empty() ? body_ : head_;
    const size_t count = std::min(size, from.size());
    std::memcpy(into, from.data(), count);
    from.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  using httplib::Stream::write;
  ssize_t write(const char* bytes, size_t size) {
    answer_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const { get_remote_ip_and_port(ip, port); }
  socket_t socket() const { return 0; }  // httplib compares it with FD_SETSIZE
  time_t duration() const { return 0; }

  std::string take_answer() { return std::move(answer_); }

 private:
  std::string_view head_;
  std::string_view body_;
  std::string answer_;
};

// httplib's router and writer without its sockets and threads.
class HttplibEngine : public httplib::Server {
 public:
  // One request; safe from several threads at once, as in httplib's own thread pool.
  std::string process(std::string_view head, std::string_view body, bool close) {
    MemoryStream stream(head, body);
    bool closed = false;
    run(*this, stream, close, closed);
    return stream.take_answer();
  }

 private:
  template <class Self>
  static void run(Self& self, httplib::Stream& stream, bool close, bool& closed) {
    const std::function<void(httplib::Request&)> no_setup;
    const std::string nowhere;
    if constexpr (requires { self.process_request(stream, close, closed, no_setup); }) {
      self.process_request(stream, close, closed, no_setup);
    } else {
      self.process_request(stream, nowhere, 0, nowhere, 0, close, closed, no_setup);
    }
  }
};

}  // namespace muster
