#include "server/convert_handler.h"

#include <exception>
#include <string>
#include <utility>

#include "api/conversion_review.h"

namespace muster {
namespace {

// Beyond any single object that the API server stores.
constexpr size_t kLarge = 4 * 1024 * 1024;

}  // namespace

struct ConvertHandler::Answer {
  ReviewOutcome outcome;
  HttpResponse response;
};

ConvertHandler::ConvertHandler(Metrics& metrics, ServerEventSink* events, const Clock& clock)
    : metrics_(metrics), events_(events), clock_(clock) {}

Routes ConvertHandler::routes() {
  return {{.method = HttpMethod::kPost,
           .path = std::string(kConvertPath),
           .handler = [this](const HttpRequest& request) { return convert(request.body); },
           .max_body_bytes = kMaxConversionBytes}};
}

HttpResponse ConvertHandler::convert(std::string_view body) {
  const auto began = clock_.now().monotonic;
  const size_t path = metrics_.path_index(kConvertPath);
  auto labels = metrics_.labels(path);
  metrics_.review_started(path);
  Answer made{ReviewOutcome::kError, {500, "text/plain; charset=utf-8", "internal error\n"}};
  try {
    made = body.size() > kLarge ? answer_large(body, labels) : answer(body, labels);
  } catch (const std::exception& error) {
    if (events_) events_->on_event(ServerEvent::kHandlerFailed, error.what());
  } catch (...) {
    if (events_) events_->on_event(ServerEvent::kHandlerFailed, "unknown exception");
  }
  metrics_.review_finished(labels, made.outcome, made.response.status, clock_.now().monotonic - began);
  return std::move(made.response);
}

ConvertHandler::Answer ConvertHandler::answer_large(std::string_view body, ReviewLabels& labels) {
  MutexLock lock(large_);
  return answer(body, labels);
}

ConvertHandler::Answer ConvertHandler::answer(std::string_view body, ReviewLabels& labels) const {
  auto answer = answer_conversion_review(body);
  if (!answer) {
    const ReviewError& error = answer.error();
    return {ReviewOutcome::kBadRequest, {error.http_status, "text/plain; charset=utf-8", error.message + "\n"}};
  }
  labels = metrics_.labels(labels.path, answer->kind);
  const bool failed = !answer->problem.empty();
  if (failed && events_) events_->on_event(ServerEvent::kConversionFailed, answer->problem);
  return {failed ? ReviewOutcome::kFailed : ReviewOutcome::kConverted,
          {200, "application/json", std::move(answer->body)}};
}

}  // namespace muster
