#include "kube/leases/leader_election.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/codec/json.h"

namespace muster::kube {

using nlohmann::json;

LeaderElection::LeaderElection(KubeApi& api, LeaderElectionSettings settings, LeaderCallbacks callbacks,
                               KubeObserver& observer, Timing timing)
    : api_(api),
      settings_(std::move(settings)),
      callbacks_(std::move(callbacks)),
      observer_(observer),
      timing_(std::move(timing)),
      policy_(settings_.lease, settings_.identity),
      lease_(std::make_unique<json>()),
      thread_([this](std::stop_token stop) { run(stop); }) {}

LeaderElection::~LeaderElection() = default;

std::optional<MonotonicTime> LeaderElection::valid_until() const {
  const auto until = valid_until_.load();
  if (until == kNotLeading) return std::nullopt;
  return MonotonicTime(Duration(until));
}

void LeaderElection::run(std::stop_token stop) {
  while (true) {
    // Once stopping, the requests that release the lease must not be cut short.
    const bool stopping = stop.stop_requested();
    if (stopping) policy_.resign();
    const std::stop_token cancel = stopping ? std::stop_token{} : stop;
    const Now started = timing_.clock.now();
    publish(started.monotonic);
    const LeaseStep step = policy_.next(started, timing_.random());
    switch (step.kind) {
      case LeaseStep::Kind::kWait:
        attempt_ended();
        timing_.sleeper.sleep(step.time, cancel);
        break;
      case LeaseStep::Kind::kRead:
        read(step, cancel);
        break;
      case LeaseStep::Kind::kCreate:
      case LeaseStep::Kind::kUpdate:
        write(step, cancel);
        break;
      case LeaseStep::Kind::kDone:
        attempt_ended();
        return;
    }
  }
}

void LeaderElection::read(const LeaseStep& step, std::stop_token stop) {
  KubeRequest request;
  request.path = object_path(leases(), settings_.ns, settings_.name);
  request.timeout = step.time;
  request.once = true;
  auto answer = api_.send(request, stop);
  if (!answer.ok() && answer.error().not_found()) return policy_.missing();
  if (!answer.ok()) return failed(answer.error());
  *lease_ = std::move(*answer);
  policy_.found(read_lease(*lease_), now());
}

void LeaderElection::write(const LeaseStep& step, std::stop_token stop) {
  const bool create = step.kind == LeaseStep::Kind::kCreate;
  if (create) {
    *lease_ = {{"apiVersion", api_version(leases())},
               {"kind", leases().kind},
               {"metadata", {{"name", settings_.name}, {"namespace", settings_.ns}}}};
  }
  write_lease(step.record, *lease_);
  KubeRequest request;
  request.method = create ? "POST" : "PUT";
  request.path = create ? collection_path(leases(), settings_.ns) : object_path(leases(), settings_.ns, settings_.name);
  request.body = to_text(*lease_);
  request.timeout = step.time;
  request.once = true;
  const MonotonicTime sent = now();
  auto answer = api_.send(request, stop);
  if (!answer.ok()) {
    if (answer.error().conflict() || answer.error().already_exists()) return policy_.refused(now());
    return failed(answer.error());
  }
  LeaseRecord record = read_lease(*answer);
  if (record.version.empty()) {
    return failed(unanswered(kUnreadableReason, "the lease was answered without a resourceVersion"));
  }
  *lease_ = std::move(*answer);
  policy_.written(std::move(record), sent, now());
}

void LeaderElection::attempt_ended() {
  if (!std::exchange(attempted_, true) && callbacks_.attempted) callbacks_.attempted();
}

void LeaderElection::failed(const StatusError& error) {
  if (!error.cancelled()) observer_.lease_failed(settings_.ns + "/" + settings_.name, error.message);
  policy_.failed(now());
}

void LeaderElection::publish(MonotonicTime now) {
  const auto until = policy_.valid_until(now);
  const auto before = valid_until_.exchange(until ? until->time_since_epoch().count() : kNotLeading);
  if (const auto led = policy_.led_until()) led_until_ = led->time_since_epoch().count();
  if (leads_ && !until && callbacks_.lost_leadership) callbacks_.lost_leadership(MonotonicTime(Duration(before)));
  if (policy_.holder() != holder_) {
    holder_ = policy_.holder();
    if (callbacks_.new_leader) callbacks_.new_leader(holder_);
  }
  if (!leads_ && until && callbacks_.became_leader) callbacks_.became_leader();
  leads_ = until.has_value();
}

}  // namespace muster::kube
