#include "commands/serve/serve_process.h"

#include <utility>

namespace muster::commands {

ServeProcess::ServeProcess(const ServeFlags& flags, runtime::Settings settings)
    : flags_(flags),
      settings_(std::move(settings)),
      namespace_(flags.own_namespace.empty() ? settings_.configuration.kueue.namespace_ : flags.own_namespace),
      clock_(system_clock()) {}

Outcome<> ServeProcess::start() {
  if (auto checked = Front::check(flags_, settings_.configuration); !checked) return checked;
  auto webhook_clients = Front::open_webhook_clients(settings_.configuration.muster);
  if (!webhook_clients) return fail(webhook_clients.error().message);
  if (auto connected = connect(); !connected) return connected;
  front_ = std::make_unique<Front>(flags_, settings_, namespace_, clock_, std::move(*webhook_clients), api_.get(),
                                   decider_.get());
  if (auto started = front_->start(); !started) return started;
  if (decider_)
    decider_->start(front_->serving(), [this](std::vector<std::string> bundles) {
      front_->certificates().bundles_seen(std::move(bundles));
    });
  return Done{};
}

Outcome<> ServeProcess::connect() {
  if (flags_.standalone) return Done{};
  const std::string identity = runtime::process_identity();
  auto api = ApiServer::connect(flags_, settings_, namespace_, identity, clock_);
  if (!api) return fail(api.error().message);
  api_ = std::move(*api);
  decider_ = std::make_unique<Decider>(flags_, settings_, namespace_, identity, clock_, *api_);
  return Done{};
}

void ServeProcess::stop() {
  front_->serving().stop(flags_.shutdown_delay);
  end_threads();
}

// Threads of one part call other parts: all end before any part is destroyed.
void ServeProcess::end_threads() {
  if (api_) api_->stop();
  if (decider_) decider_->stop();
  if (front_) front_->end_certificates();
}

}  // namespace muster::commands
