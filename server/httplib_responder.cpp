#include "server/httplib_responder.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace muster::server {

// The interface of cpp-httplib changes: process_request got more parameters (0.11 has four, 0.18 has eight),
// and Stream got other pure functions. The compiler detects the interface of this version; a version number is
// not used.

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

namespace {

// The fields of this thread's request that httplib must not change: it would decode the values.
thread_local const RequestHead* served_head = nullptr;

class ServedHead {
 public:
  explicit ServedHead(const RequestHead& head) { served_head = &head; }
  ~ServedHead() { served_head = nullptr; }
  ServedHead(const ServedHead&) = delete;
  ServedHead& operator=(const ServedHead&) = delete;
};

HttpRequest to_request(const httplib::Request& request, const std::string& token, const std::string& own_token) {
  HttpRequest result;
  const std::string_view target = request.target;
  const auto question = target.find('?');
  result.path = target.substr(0, question);
  if (question != std::string_view::npos) result.query = target.substr(question + 1);
  result.bearer_token = token;
  result.own_token = own_token;
  result.body = request.body;
  return result;
}

httplib::Server::Handler wrap(const HttpHandler& handler) {
  return [handler](const httplib::Request& request, httplib::Response& response) {
    const auto token = request.get_header_value("Authorization");
    const auto own_token = request.get_header_value("X-Muster-Token");
    HttpRequest asked = to_request(request, token, own_token);
    std::vector<HttpHeader> headers;
    if (served_head->route->identified) {
      for (const auto& [name, value] : served_head->headers) headers.push_back({name, value});
      asked.headers = headers;
      asked.peer = served_head->peer;
    }
    auto made = handler(asked);
    response.status = made.status;
    response.body = std::move(made.body);
    response.set_header("Content-Type", made.content_type);
    for (const HttpHeader& header : made.headers)
      response.set_header(std::string(header.name).c_str(), std::string(header.value));
  };
}

void report(ServerEventSink* events, const std::exception_ptr& thrown) {
  if (!events) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    events->on_event(ServerEvent::kHandlerFailed, error.what());
  } catch (...) {
    events->on_event(ServerEvent::kHandlerFailed, "unknown exception");
  }
}

}  // namespace

class HttplibResponder::Engine : public HttplibEngine {
 public:
  Engine(const Routes& routes, Duration keep_alive, ServerEventSink* events) {
    for (const auto& route : routes) {
      // httplib's paths are patterns; after a prefix, parse_head accepts only short plain text.
      const std::string pattern = route.path + (route.prefix ? "[-./0-9A-Za-z]*" : "");
      if (route.method == HttpMethod::kGet) {
        Get(pattern, wrap(route.handler));
      } else {
        Post(pattern, wrap(route.handler));
      }
    }
    // By default 0.11 puts what() into a header (CVE-2026-28434).
    set_exception_handler([events](const httplib::Request&, httplib::Response& response, std::exception_ptr thrown) {
      report(events, thrown);
      response.status = 500;
      response.body = "internal error\n";
      response.set_header("Content-Type", "text/plain; charset=utf-8");
    });
    set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(keep_alive).count());
    set_keep_alive_max_count(1'000'000);  // only shown to clients; the number is not counted
  }
};

HttplibResponder::HttplibResponder(const Routes& routes, Duration keep_alive, ServerEventSink* events)
    : engine_(std::make_unique<Engine>(routes, keep_alive, events)) {}

HttplibResponder::~HttplibResponder() = default;

std::string HttplibResponder::answer(const RequestHead& head, std::string_view body, bool close) const {
  std::string clean = head.route->method == HttpMethod::kGet ? "GET " : "POST ";
  clean += head.target + " HTTP/1.1\r\n";
  // 0.11 percent-decodes values of headers; parse_head lets no '%' into a token.
  if (!head.bearer_token.empty()) clean += "Authorization: " + head.bearer_token + "\r\n";
  if (!head.own_token.empty()) clean += "X-Muster-Token: " + head.own_token + "\r\n";
  if (head.route->method == HttpMethod::kPost) {
    clean += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  clean += "\r\n";
  const ServedHead served(head);
  return engine_->process(clean, body, close);
}

}  // namespace muster::server
