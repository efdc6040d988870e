#include "kube/events/event_recorder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/utf8.h"
#include "kube/retry.h"

namespace muster::kube {
namespace {

using nlohmann::json;

constexpr size_t kMaxNoteBytes = 1024;
constexpr size_t kMaxWordBytes = 128;  // reason, action, reportingInstance
constexpr Duration kRequestTimeout = std::chrono::seconds(10);
// How long to sleep if no event is planned; a new event ends the sleep.
constexpr Duration kIdle = std::chrono::hours(1);

// At most `limit` bytes of whole characters; bytes that are not UTF-8 become U+FFFD.
std::string cut(std::string_view text, size_t limit) {
  std::string kept;
  while (!text.empty()) {
    const Utf8Character c = read_utf8(text);
    std::string next(text.substr(0, c.length));
    if (!c.valid) next = "\xef\xbf\xbd";
    if (kept.size() + next.size() > limit) break;
    kept += next;
    text.remove_prefix(c.length);
  }
  return kept;
}

json reference(const ObjectReference& about) {
  json object = {{"apiVersion", about.api_version}, {"kind", about.kind}, {"name", about.name}};
  if (!about.ns.empty()) object["namespace"] = about.ns;
  if (!about.uid.empty()) object["uid"] = about.uid;
  if (!about.resource_version.empty()) object["resourceVersion"] = about.resource_version;
  return object;
}

json series_of(const EventRecord& record) {
  return {{"count", record.count}, {"lastObservedTime", micro_time_to_json(record.last)}};
}

bool passes_by_itself(const StatusError& error) {
  return error.code >= 500 || error.code == 429 || (error.unanswered() && !error.cancelled());
}

// Events of a namespace that is being deleted are refused with 403, later with 404.
bool namespace_gone(const StatusError& error) {
  return error.not_found() || std::any_of(error.causes.begin(), error.causes.end(), [](const StatusCause& cause) {
           return cause.reason == "NamespaceTerminating";
         });
}

}  // namespace

const Resource& events() {
  static const Resource resource{"events.k8s.io", "v1", "events", true, "Event"};
  return resource;
}

std::string event_namespace(const ObjectReference& about) {
  return about.ns.empty() ? "default" : about.ns;
}

json event_body(const EventRecord& record, const EventOptions& options) {
  const ObjectEvent& event = record.event;
  json body = {{"apiVersion", api_version(events())},
               {"kind", events().kind},
               {"metadata", {{"name", record.name}, {"namespace", event_namespace(event.regarding)}}},
               {"eventTime", micro_time_to_json(record.first)},
               {"reportingController", options.controller},
               {"reportingInstance", cut(options.instance, kMaxWordBytes)},
               {"regarding", reference(event.regarding)},
               {"type", event.type},
               {"reason", cut(event.reason, kMaxWordBytes)},
               {"action", cut(event.action.empty() ? event.reason : event.action, kMaxWordBytes)},
               {"note", cut(event.note, kMaxNoteBytes)}};
  if (record.count > 1) body["series"] = series_of(record);
  return body;
}

json series_patch(const EventRecord& record) {
  return {{"series", series_of(record)}};
}

EventRecorder::EventRecorder(KubeApi& api, EventOptions options, KubeObserver& observer, Timing timing)
    : api_(api),
      options_(std::move(options)),
      observer_(observer),
      timing_(std::move(timing)),
      correlator_(options_),
      thread_([this](std::stop_token stop) { run(stop); }) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(ObjectEvent event) {
  const Now when = timing_.clock.now();
  bool dropped = false;
  {
    const MutexLock lock(mutex_);
    queue_.push_back({std::move(event), when});
    if (queue_.size() > kMaxQueued) {
      queue_.pop_front();
      dropped = true;
    }
    wake_.request_stop();
  }
  if (dropped) observer_.event_done(EventOutcome::kQueueFull, "");
}

std::optional<EventRecorder::Waiting> EventRecorder::next() {
  const MutexLock lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  Waiting waiting = std::move(queue_.front());
  queue_.pop_front();
  return waiting;
}

void EventRecorder::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (auto waiting = next()) {
      handle(std::move(*waiting), stop);
      continue;
    }
    const MonotonicTime now = timing_.clock.now().monotonic;
    for (const EventRecord& record : correlator_.due(now)) patch(record, stop);
    sleep_until_due(stop);
  }
  say_last_words();
}

void EventRecorder::sleep_until_due(std::stop_token stop) {
  std::stop_source wake;
  {
    const MutexLock lock(mutex_);
    if (!queue_.empty()) return;
    wake_ = wake;
  }
  const std::stop_callback end(stop, [&wake] { wake.request_stop(); });
  const auto due = correlator_.next_due();
  timing_.sleeper.sleep(due ? *due - timing_.clock.now().monotonic : kIdle, wake.get_token());
}

void EventRecorder::handle(Waiting waiting, std::stop_token stop) {
  for (const EventRecord& record : correlator_.due(waiting.when.monotonic)) patch(record, stop);
  const EventDecision decision = correlator_.take(std::move(waiting.event), waiting.when);
  switch (decision.kind) {
    case EventDecision::Kind::kCreate:
      return create(decision.record, stop);
    case EventDecision::Kind::kPatch:
      return patch(decision.record, stop);
    case EventDecision::Kind::kCounted:
      return observer_.event_done(EventOutcome::kCounted, "");
    case EventDecision::Kind::kRateLimited:
      return observer_.event_done(EventOutcome::kRateLimited, "");
  }
}

void EventRecorder::create(const EventRecord& record, std::stop_token stop) {
  KubeRequest request;
  request.method = "POST";
  request.path = collection_path(events(), event_namespace(record.event.regarding));
  request.body = to_text(event_body(record, options_));
  const auto answer = send(std::move(request), stop);
  tell(answer, EventOutcome::kCreated);
  if (!answer.ok() && namespace_gone(answer.error())) forget_namespace(event_namespace(record.event.regarding));
}

void EventRecorder::forget_namespace(const std::string& ns) {
  size_t forgotten = 0;
  {
    const MutexLock lock(mutex_);
    forgotten = std::erase_if(queue_, [&](const Waiting& each) { return event_namespace(each.event.regarding) == ns; });
  }
  for (; forgotten > 0; --forgotten) observer_.event_done(EventOutcome::kNamespaceGone, "");
}

void EventRecorder::patch(const EventRecord& record, std::stop_token stop) {
  KubeRequest request;
  request.method = "PATCH";
  request.path = object_path(events(), event_namespace(record.event.regarding), record.name);
  request.body = to_text(series_patch(record));
  request.content_type = "application/merge-patch+json";
  const auto answer = send(std::move(request), stop);
  // Events live for an hour; a series can live for longer.
  if (!answer.ok() && answer.error().not_found()) return create(record, stop);
  tell(answer, EventOutcome::kPatched);
}

bool EventRecorder::await_turn(std::stop_token stop) {
  const MonotonicTime now = timing_.clock.now().monotonic;
  Duration wait = throttle_.take(now);
  if (last_words_until_) return wait <= Duration::zero();
  wait = std::max(wait, yields_until_ - now);
  if (wait <= Duration::zero()) return true;
  timing_.sleeper.sleep(wait, stop);
  return !stop.stop_requested();
}

KubeApi::Answer EventRecorder::send_once(const KubeRequest& request, std::stop_token stop) {
  const MonotonicTime asked = timing_.clock.now().monotonic;
  auto answer = api_.send(request, std::move(stop));
  const MonotonicTime answered = timing_.clock.now().monotonic;
  yields_until_ = answered + std::min<Duration>(kYield * (answered - asked), kRetryPeriod);
  return answer;
}

KubeApi::Answer EventRecorder::send(KubeRequest request, std::stop_token stop) {
  request.once = true;
  for (int tries = 1;; ++tries) {
    request.timeout = kRequestTimeout;
    if (!await_turn(stop)) {
      if (last_words_until_)
        return fail_with(unanswered(kNoAnswerInTimeReason, "muster stops, and has sent enough events for now"));
      unsent_.push_back(std::move(request));
      return fail_with(unanswered(kCancelledReason, "muster stops"));
    }
    if (last_words_until_) {
      request.timeout = *last_words_until_ - timing_.clock.now().monotonic;
      if (request.timeout <= Duration::zero()) return fail_with(unanswered(kNoAnswerInTimeReason, "muster stops"));
    }
    auto answer = send_once(request, stop);
    if (answer.ok()) return answer;
    if (answer.error().cancelled()) {
      unsent_.push_back(std::move(request));
      return answer;
    }
    if (!passes_by_itself(answer.error()) || tries == kMaxTries) return answer;
    if (last_words_until_) {
      last_words_until_ = timing_.clock.now().monotonic;  // the next would wait in vain, too
      return answer;
    }
    const Duration asked = answer.error().retry_after.value_or(Duration::zero());
    timing_.sleeper.sleep(std::clamp(asked, kRetryPeriod, kLongestRetryWait), stop);
  }
}

void EventRecorder::tell(const KubeApi::Answer& answer, EventOutcome done) {
  // Only muster uses this name: an existing Event was created by an earlier attempt.
  if (answer.ok() || answer.error().already_exists()) return observer_.event_done(done, "");
  const StatusError& error = answer.error();
  if (error.cancelled()) return;  // sent again with the last words
  if (namespace_gone(error)) return observer_.event_done(EventOutcome::kNamespaceGone, "");
  observer_.event_done(passes_by_itself(error) ? EventOutcome::kUnanswered : EventOutcome::kRefused, error.message);
}

void EventRecorder::say_last_words() {
  last_words_until_ = timing_.clock.now().monotonic + kLastWords;
  for (KubeRequest& request : std::exchange(unsent_, {})) {
    const auto done = request.method == "POST" ? EventOutcome::kCreated : EventOutcome::kPatched;
    tell(send(std::move(request), {}), done);
  }
  while (auto waiting = next()) handle(std::move(*waiting), {});
  for (const EventRecord& record : correlator_.due(MonotonicTime::max())) patch(record, {});
}

}  // namespace muster::kube
