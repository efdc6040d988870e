// One running `muster serve`: the composition root.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "commands/serve/api_server.h"
#include "commands/serve/decider.h"
#include "commands/serve/front.h"
#include "commands/serve/serve_flags.h"
#include "runtime/load_settings.h"

namespace muster::commands {

class ServeProcess {
 public:
  // `flags` must outlive it.
  ServeProcess(const ServeFlags& flags, runtime::Settings settings);
  ~ServeProcess() { end_threads(); }
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  // Serves at once, and decides as soon as the API server has said what muster must know.
  Outcome<> start();
  void stop();
  // See Decider::gave_up().
  std::string gave_up() const { return decider_ ? decider_->gave_up() : ""; }

 private:
  Outcome<> connect();
  void end_threads();

  const ServeFlags& flags_;
  const runtime::Settings settings_;
  const std::string namespace_;
  const Clock& clock_;

  // Later ones use earlier ones, so they are destroyed first.
  std::unique_ptr<ApiServer> api_;    // null: --standalone
  std::unique_ptr<Decider> decider_;  // the same
  std::unique_ptr<Front> front_;
};

}  // namespace muster::commands
