// Reports of the API server client about itself. kube/ never logs: the owner of the client passes an observer, which
// writes log lines and metrics.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/resource.h"

namespace muster::kube {

// What has become of one event that was to be recorded.
enum class EventOutcome {
  kCreated,
  kPatched,        // a series was brought up to date
  kCounted,        // a repetition: its series will be patched later
  kRateLimited,    // lost: too many about this object
  kQueueFull,      // lost: too many at once
  kNamespaceGone,  // lost: its namespace is being deleted, or is not there
  kRefused,        // lost: the API server refuses it, with a reason
  kUnanswered,     // lost: the API server could not be reached for too long
};
// "created", "rate_limited": a metric's label.
std::string_view label_of(EventOutcome outcome);

// Called from the client's callers' threads and from watches' threads, several at
// once; must be quick. Everything is optional.
class KubeObserver {
 public:
  virtual ~KubeObserver() = default;

  // One attempt of a request has ended. `code` is the HTTP status in digits or
  // "<error>", as rest_client_requests_total spells it; `host` is host:port.
  virtual void request_done(std::string_view /*method*/, std::string_view /*host*/, std::string_view /*code*/,
                            Duration /*latency*/) {}
  // The API server has taken a request and does not like something about it: a Warning header.
  virtual void warned(std::string_view /*method*/, std::string_view /*path*/, const std::string& /*text*/) {}
  // A request will be sent again after `delay`.
  virtual void retrying(std::string_view /*method*/, std::string_view /*path*/, const std::string& /*why*/,
                        Duration /*delay*/) {}
  // Our own rate limit holds a request back.
  virtual void throttled(std::string_view /*method*/, std::string_view /*path*/, Duration /*delay*/) {}
  // Credentials could not be refreshed; the previous ones are still in use.
  virtual void credentials_stale(const std::string& /*why*/) {}

  // Data of a kind came from the API server: a whole list, an event, a bookmark, or that the kind is not served.
  // `selector` distinguishes several watches of a kind.
  virtual void heard(const Resource& /*resource*/, const std::string& /*selector*/) {}
  // A list starts, the first included; `why` is empty for the first.
  virtual void listing(const Resource& /*resource*/, const std::string& /*why*/) {}
  // A watch broke and goes on after `delay`. Not called for the server's regular closing.
  virtual void reconnecting(const Resource& /*resource*/, const std::string& /*why*/, Duration /*delay*/) {}
  // The kind is not served: its CRD is missing. Once until it appears.
  virtual void absent(const Resource& /*resource*/) {}
  // The kind is served and is not followed: what a KindCheck says against it. Empty: nothing any more. Once for each
  // text.
  virtual void objected(const Resource& /*resource*/, const std::string& /*why*/) {}
  // A right is missing; `message` is the server's sentence and names it. Once until granted.
  virtual void forbidden(const Resource& /*resource*/, const std::string& /*message*/) {}

  // A lease could not be read or written; tried again soon. Not called for a lost race.
  virtual void lease_failed(const std::string& /*lease*/, const std::string& /*why*/) {}
  // Once per event given to a recorder, and once more for each patch of a series. `why` is empty unless an answer of
  // the API server has it.
  virtual void event_done(EventOutcome /*outcome*/, const std::string& /*why*/) {}
};

}  // namespace muster::kube
