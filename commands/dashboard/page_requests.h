// What the dashboard's page can ask for, and the answer to each request. Pure, but for what the source reads.
//
// The server listens on the loopback address only. That keeps other machines out, but nothing more: other users of
// this machine, and every page that a browser shows, can send requests to it. So
// - each path begins with a random token, which only the person who ran the command has seen;
// - the Host header must name the loopback address and the port (a name that an attacker lets point to 127.0.0.1
//   is another host), and an Origin, where a browser sends one, must be the page's own;
// - nothing but GET is answered, and nothing can be changed through it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "commands/dashboard/page_source.h"

namespace muster::commands {

struct PageSettings {
  std::string token;   // of the path; [0-9a-f]
  uint16_t port = 0;   // that is listened on
  std::string ns;      // the namespace that the page begins with; empty: all
  std::string server;  // of the cluster, for the page's title
};

struct PageRequest {
  std::string method, path, query;
  std::string host, origin;  // of the headers; empty where there is none
};

struct PageAnswer {
  int status = 200;
  std::string content_type, body;
};

PageAnswer answer_page_request(const PageRequest& request, const PageSettings& settings, PageSource& source);

}  // namespace muster::commands
