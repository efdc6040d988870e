#include "server/counted_review.h"

#include <exception>
#include <utility>

namespace muster::server {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

}  // namespace

ReviewAnswer bad_request(const ReviewError& error) {
  return {ReviewOutcome::kBadRequest, {error.http_status, kPlainText, error.message + "\n"}};
}

HttpResponse counted_review(Metrics& metrics, ServerEventSink* events, const Clock& clock, std::string_view path,
                            const std::function<ReviewAnswer(ReviewLabels& labels)>& answer) {
  const auto began = clock.now().monotonic;
  const size_t path_index = metrics.path_index(path);
  ReviewLabels labels = metrics.labels(path_index);
  metrics.review_started(path_index);
  ReviewAnswer made{ReviewOutcome::kError, {500, kPlainText, "internal error\n"}};
  try {
    made = answer(labels);
  } catch (const std::exception& error) {
    if (events) events->on_event(ServerEvent::kHandlerFailed, error.what());
  } catch (...) {
    if (events) events->on_event(ServerEvent::kHandlerFailed, "unknown exception");
  }
  metrics.review_finished(labels, made.outcome, made.response.status, clock.now().monotonic - began);
  return std::move(made.response);
}

}  // namespace muster::server
