#include "commands/dashboard/page_server.h"

#include <httplib.h>

#include <utility>

#include "server/page_files.h"

namespace muster::commands {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
// Of a request's path and query, which are short here.
constexpr size_t kWorkers = 4;

}  // namespace

struct PageServer::Parts {
  httplib::Server server;
};

PageServer::PageServer(PageSettings settings, PageSource& source)
    : settings_(std::move(settings)), parts_(std::make_unique<Parts>()) {
  httplib::Server& server = parts_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kWorkers); };
  server.set_payload_max_length(0);
  httplib::Headers headers;
  for (const server::HttpHeader& header : server::page_headers()) headers.emplace(header.name, header.value);
  server.set_default_headers(std::move(headers));
  // Runs before httplib looks for routes: one function checks every method and path.
  server.set_pre_routing_handler([this, &source](const httplib::Request& request, httplib::Response& response) {
    const size_t question = request.target.find('?');
    const PageAnswer answer =
        answer_page_request({.method = request.method,
                             .path = request.path,
                             .query = question == std::string::npos ? "" : request.target.substr(question + 1),
                             .host = request.get_header_value("Host"),
                             .origin = request.get_header_value("Origin")},
                            settings_, source);
    response.status = answer.status;
    response.set_content(answer.body, answer.content_type);
    return httplib::Server::HandlerResponse::Handled;
  });
}

PageServer::~PageServer() = default;

Outcome<> PageServer::bind() {
  if (settings_.port == 0) {
    const int port = parts_->server.bind_to_any_port(kLoopback);
    if (port <= 0) return fail("no port of 127.0.0.1 can be listened on");
    settings_.port = static_cast<uint16_t>(port);
    return Done{};
  }
  if (!parts_->server.bind_to_port(kLoopback, settings_.port))
    return fail("port " + std::to_string(settings_.port) + " of 127.0.0.1 cannot be listened on; leave out --port");
  return Done{};
}

std::string PageServer::address() const {
  return std::string("http://") + kLoopback + ":" + std::to_string(settings_.port) + "/" + settings_.token + "/";
}

void PageServer::run() {
  parts_->server.listen_after_bind();
}

void PageServer::stop() {
  parts_->server.stop();
}

}  // namespace muster::commands
