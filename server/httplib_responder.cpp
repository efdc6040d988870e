#include "server/httplib_responder.h"

#include <httplib.h>

#include <exception>

#include "server/httplib_compat.h"

namespace muster {

namespace {

HttpRequest to_request(const httplib::Request& request, const std::string& token) {
  HttpRequest result;
  const std::string_view target = request.target;
  const auto question = target.find('?');
  result.path = target.substr(0, question);
  if (question != std::string_view::npos) result.query = target.substr(question + 1);
  result.bearer_token = token;
  result.body = request.body;
  return result;
}

httplib::Server::Handler wrap(const HttpHandler& handler) {
  return [handler](const httplib::Request& request, httplib::Response& response) {
    const auto token = request.get_header_value("Authorization");
    auto made = handler(to_request(request, token));
    response.status = made.status;
    response.body = std::move(made.body);
    response.set_header("Content-Type", made.content_type);
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
      if (route.method == HttpMethod::kGet) {
        Get(route.path, wrap(route.handler));
      } else {
        Post(route.path, wrap(route.handler));
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
    set_keep_alive_max_count(1'000'000);  // only shown to clients; nobody counts
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
  if (head.route->method == HttpMethod::kPost) {
    clean += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  clean += "\r\n";
  return engine_->process(clean, body, close);
}

}  // namespace muster
