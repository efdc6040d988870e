// The page over HTTP on 127.0.0.1: cpp-httplib around answer_page_request.
#pragma once

#include <memory>

#include "base/result.h"
#include "commands/dashboard/page_requests.h"

namespace muster::commands {

class PageServer {
 public:
  // `source` must outlive it. settings.port: 0 means a free one.
  PageServer(PageSettings settings, PageSource& source);
  ~PageServer();

  // Binds; the error says why not.
  Outcome<> bind();
  // After bind(): "http://127.0.0.1:41234/<token>/".
  std::string address() const;
  // Serves until stop().
  void run();
  // From any thread.
  void stop();

 private:
  struct Parts;
  PageSettings settings_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::commands
