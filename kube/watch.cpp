#include "kube/watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "kube/discovery.h"
#include "kube/watch_frames.h"

namespace muster::kube {
namespace {

using nlohmann::json;

constexpr int kShortestWatchSeconds = 300;
// Timeout of a stream that is used as a proof. If a server does not send a bookmark at once, it sends it 2 s
// before the end of the stream.
constexpr int kProofSeconds = 3;
// A stream that ends earlier proves nothing: the API server did not end it.
constexpr auto kShortestProof = std::chrono::seconds(2);
constexpr auto kSilenceMargin = std::chrono::seconds(30);
// In a row, until a kind counts as absent.
constexpr int kEnoughAbsences = 2;

WatchEnd end_of(const StatusError& error) {
  // "Too large resource version": this server is behind the server of the list.
  const bool ahead = std::any_of(error.causes.begin(), error.causes.end(),
                                 [](const StatusCause& cause) { return cause.reason == "ResourceVersionTooLarge"; });
  if (ahead || error.reason == kUnreadableReason || error.reason == kTooLargeReason) return WatchEnd::kUnusable;
  switch (error.code) {
    case 401:  // the client gets a new token; the known state stays valid
      return WatchEnd::kBroken;
    case 403:
      return WatchEnd::kForbidden;
    case 404:
      return WatchEnd::kAbsent;
    case 410:
      return WatchEnd::kExpired;
    default:
      return error.unanswered() || error.code == 429 || error.code >= 500 ? WatchEnd::kBroken : WatchEnd::kUnusable;
  }
}

std::optional<WatchChange> change_of(std::string_view type) {
  if (type == "ADDED") return WatchChange::kAdded;
  if (type == "MODIFIED") return WatchChange::kModified;
  if (type == "DELETED") return WatchChange::kDeleted;
  return std::nullopt;
}

}  // namespace

Watch::Watch(KubeApi& api, Resource resource, Selection selection, WatchSink& sink, KubeObserver& observer,
             Timing timing, uint64_t term, KindCheck check)
    : api_(api),
      resource_(std::move(resource)),
      selection_(std::move(selection)),
      sink_(sink),
      observer_(observer),
      timing_(std::move(timing)),
      check_(std::move(check)),
      asked_term_(term),
      thread_([this](std::stop_token stop) { run(stop); }) {}

void Watch::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const std::stop_source attempt_source = begin_attempt();
    const std::stop_callback on_stop(stop, [&] { attempt_source.request_stop(); });
    const std::stop_token cut = attempt_source.get_token();
    const MonotonicTime started = timing_.clock.now().monotonic;
    // A list goes on: there can be none that is shorter.
    std::optional<WatchAttempt> attempt = ask_check(stop);
    if (!attempt) attempt = version_.empty() ? list(stop) : watch(cut);
    if (!attempt || cut.stop_requested()) continue;
    const MonotonicTime ended = timing_.clock.now().monotonic;
    attempt->lasted = ended - started;
    if (attempt->end == WatchEnd::kAbsent)
      attempt->end = look_for_kind(stop);
    else
      absences_ = 0;
    if (stop.stop_requested()) return;
    if (attempt->end == WatchEnd::kClosed && attempt->lasted >= kShortestProof) caught_up();
    const WatchNext next = policy_.after(*attempt, ended, timing_.random());
    tell(*attempt, next);
    if (next.relist) version_.clear();
    timing_.sleeper.sleep(next.delay, cut);
  }
}

void Watch::catch_up(uint64_t term) {
  std::stop_source overtaken(std::nostopstate);
  {
    MutexLock lock(mutex_);
    if (term <= asked_term_) return;
    asked_term_ = term;
    overtaken = attempt_;
  }
  overtaken.request_stop();
}

std::stop_source Watch::begin_attempt() {
  MutexLock lock(mutex_);
  attempt_ = std::stop_source();
  term_ = asked_term_;
  return attempt_;
}

void Watch::caught_up() {
  if (term_ <= caught_up_with_) return;
  caught_up_with_ = term_;
  sink_.on_caught_up(term_);
}

std::optional<WatchAttempt> Watch::ask_check(std::stop_token stop) {
  if (!check_) return std::nullopt;
  const auto objection = check_(std::move(stop));
  WatchAttempt attempt;
  attempt.listing = version_.empty();
  if (!objection.ok()) {
    take_error(objection.error(), attempt);
    return attempt;
  }
  if (objection->empty()) {
    if (!std::exchange(objection_, "").empty()) observer_.objected(resource_, "");
    return std::nullopt;
  }
  attempt.end = WatchEnd::kObjected;
  why_ = *objection;
  heard();
  return attempt;
}

std::optional<WatchAttempt> Watch::list(std::stop_token stop) {
  policy_.list_started(timing_.clock.now().monotonic);
  observer_.listing(resource_, why_);
  ListHandler handler;
  handler.started = [this] { sink_.on_list_started(); };
  handler.item = [this](json& item) {
    stamp(item);
    sink_.on_listed(item);
  };
  auto version = api_.list(resource_, selection_, handler, stop);
  if (!version.ok()) {
    WatchAttempt attempt;
    attempt.listing = true;
    take_error(version.error(), attempt);
    return attempt;
  }
  version_ = std::move(*version);
  why_.clear();
  told_absent_ = told_forbidden_ = false;
  absences_ = 0;
  sink_.on_replaced(version_);
  caught_up();
  synced_ = true;
  heard();
  return std::nullopt;
}

WatchAttempt Watch::watch(std::stop_token stop) {
  const bool proves = term_ > caught_up_with_;
  const int seconds =
      proves ? kProofSeconds : kShortestWatchSeconds + static_cast<int>(kShortestWatchSeconds * timing_.random());
  KubeRequest request;
  request.path = collection_path(resource_, selection_.ns);
  request.accept = accept_header(selection_.metadata_only, "PartialObjectMetadata");
  request.timeout = std::chrono::seconds(seconds) + kSilenceMargin;
  request.query = {{"watch", "true"},
                   {"allowWatchBookmarks", "true"},
                   {"resourceVersion", version_},
                   {"timeoutSeconds", std::to_string(seconds)}};
  if (!selection_.label_selector.empty()) request.query.emplace_back("labelSelector", selection_.label_selector);
  if (!selection_.field_selector.empty()) request.query.emplace_back("fieldSelector", selection_.field_selector);

  WatchAttempt attempt;
  why_.clear();
  WatchFrames frames;
  const auto on_bytes = [&](std::string_view bytes) {
    bool going = true;
    const auto fed = frames.feed(bytes, [&](std::string_view frame) { return going = take_frame(frame, attempt); });
    if (!fed.ok()) take_error(unanswered(kUnreadableReason, fed.error().message), attempt);
    return going && fed.ok();
  };
  const auto done = api_.stream(request, on_bytes, stop);
  if (!done.ok()) take_error(done.error(), attempt);
  return attempt;
}

bool Watch::take_frame(std::string_view frame, WatchAttempt& attempt) {
  auto event = selection_.managed_fields ? parse_json(frame) : parse_without_managed_fields(frame);
  if (!event.ok()) {
    take_error(unanswered(kUnreadableReason, "an event of the watch is no JSON: " + event.error().message), attempt);
    return false;
  }
  const std::string_view type = string_at(*event, {"type"});
  if (type == "ERROR") {
    const json& status = object_at(*event, {"object"});
    const auto code = static_cast<int>(int_at(status, {"code"}).value_or(500));
    take_error(status_error(code, to_text(status), ""), attempt);
    return false;
  }
  const auto change = change_of(type);
  const std::string version(string_at(*event, {"object", "metadata", "resourceVersion"}));
  if ((!change && type != "BOOKMARK") || version.empty()) {
    take_error(
        unanswered(kUnreadableReason, "the watch sent an event of type \"" + std::string(type) + "\" that is none"),
        attempt);
    return false;
  }
  if (change) {
    json& object = (*event)["object"];
    stamp(object);
    sink_.on_event(*change, object);
    attempt.delivered = true;
  }
  version_ = version;
  if (!change) caught_up();
  heard();
  return true;
}

void Watch::take_error(const StatusError& error, WatchAttempt& attempt) {
  attempt.end = end_of(error);
  attempt.retry_after = error.retry_after;
  why_ = error.message;
}

void Watch::tell(const WatchAttempt& attempt, const WatchNext& next) {
  switch (attempt.end) {
    case WatchEnd::kAbsent:
      found_absent();
      return;
    case WatchEnd::kObjected:
      found_objection();
      return;
    case WatchEnd::kDoubtful:
      break;
    case WatchEnd::kForbidden:
      if (!std::exchange(told_forbidden_, true)) observer_.forbidden(resource_, why_);
      return;
    case WatchEnd::kClosed:
      if (attempt.lasted >= WatchPolicy::kShort) return;
      why_ = "the server closed the watch at once";
      break;
    case WatchEnd::kExpired:
      return;  // the list that follows is reported
    case WatchEnd::kBroken:
    case WatchEnd::kUnusable:
      break;
  }
  observer_.reconnecting(resource_, why_, next.delay);
}

// The meaning of a 404.
WatchEnd Watch::look_for_kind(std::stop_token stop) {
  const auto served = is_served(api_, resource_, std::move(stop));
  if (!served.ok() || *served) {
    absences_ = 0;
    return WatchEnd::kUnusable;
  }
  heard();
  absences_ = std::min(absences_ + 1, kEnoughAbsences);
  return absences_ < kEnoughAbsences ? WatchEnd::kDoubtful : WatchEnd::kAbsent;
}

void Watch::heard() {
  observer_.heard(resource_, selection_.field_selector);
}

void Watch::found_absent() {
  const bool known = std::exchange(told_absent_, true);
  if (!known) sink_.on_absent();
  caught_up();
  if (known) return;
  synced_ = true;
  observer_.absent(resource_);
}

void Watch::found_objection() {
  if (!std::exchange(told_absent_, true)) sink_.on_absent();
  caught_up();
  synced_ = true;
  if (std::exchange(objection_, why_) != why_) observer_.objected(resource_, why_);
}

// The items of a list do not contain their kind; the object of an event does.
void Watch::stamp(json& object) const {
  if (resource_.kind.empty() || !object.is_object() || string_at(object, {"kind"}) == resource_.kind) return;
  object["apiVersion"] = api_version(resource_);
  object["kind"] = resource_.kind;
}

}  // namespace muster::kube
