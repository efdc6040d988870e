#include "server/http_server.h"

#include "server/httplib_responder.h"
#include "server/transport/connection_loop.h"
#include "server/transport/listener.h"

namespace muster::server {

struct HttpServer::Parts {
  ConnectionSettings settings;
  HttplibResponder responder;
  ConnectionLoop loop;

  Parts(const HttpServerOptions& options, Routes routes)
      : settings(options.limits),
        responder(routes, options.timeouts.idle, options.events),
        loop(settings, channel_factory(options)) {
    settings.routes = std::move(routes);
    settings.timeouts = options.timeouts;
    settings.clock = options.clock;
    settings.events = options.events;
    settings.after_large = options.after_large;
    settings.answer = [this](const RequestHead& head, std::string_view body, bool close) {
      return responder.answer(head, body, close);
    };
  }

  static ConnectionLoop::ChannelFactory channel_factory(const HttpServerOptions& options) {
    if (!options.tls) return make_plain_channel;
    return [tls = options.tls, clients = options.clients, identified = options.identified](FileDescriptor socket) {
      return tls->accept(std::move(socket), clients, identified);
    };
  }
};

HttpServer::HttpServer(HttpServerOptions options, Routes routes)
    : options_(std::move(options)), parts_(std::make_unique<Parts>(options_, std::move(routes))) {}

HttpServer::~HttpServer() = default;

Outcome<> HttpServer::start() {
  const auto address = parse_bind_address(options_.bind_address);
  if (!address) return fail(address.error().message);
  auto listener = listen_on(*address);
  if (!listener) return fail(listener.error().message);
  port_ = port_of(*listener);
  std::vector<FileDescriptor> listeners;
  listeners.push_back(std::move(*listener));
  return parts_->loop.start(std::move(listeners), options_.workers);
}

void HttpServer::close_after_answers() {
  parts_->loop.close_after_answers();
}

void HttpServer::drain(const DrainTimes& times) {
  parts_->loop.drain(times);
}

size_t HttpServer::open_connections() const {
  return parts_->loop.open_connections();
}

}  // namespace muster::server
