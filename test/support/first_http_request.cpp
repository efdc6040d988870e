// For ThreadSanitizer alone: answers one HTTP request before the tests begin and before there are threads.
//
// httplib::Server::parse_request_line keeps the known methods in a static std::set. The compiler makes its
// initialization safe for threads, but later readers only read the guard's byte, inside a library that Debian builds
// without instrumentation. So each lookup on another thread looks like a race with the initialization. A suppression
// cannot be exact: one for races with the library in the stack hides all races in handlers, and one for the calls
// that the library makes (called_from_lib) hides its mutexes, which gives other false reports.
#include "server/httplib_responder.h"

namespace muster::test {
namespace {

[[maybe_unused]] const bool kAnswered = [] {
  const server::Routes routes = {{server::HttpMethod::kGet, "/", [](const server::HttpRequest&) {
                                    return server::HttpResponse{200, "text/plain", ""};
                                  }}};
  server::RequestHead head;
  head.route = &routes.front();
  head.target = "/";
  return !server::HttplibResponder(routes, Duration(0), nullptr).answer(head, "", true).empty();
}();

}  // namespace
}  // namespace muster::test
