#include "server/convert_handler.h"

#include <string>
#include <utility>

#include "api/conversion_review.h"

namespace muster {
namespace {

// Beyond any single object that the API server stores.
constexpr size_t kLarge = 4 * 1024 * 1024;

}  // namespace

ConvertHandler::ConvertHandler(Metrics& metrics, ServerEventSink* events, const Clock& clock)
    : metrics_(metrics), events_(events), clock_(clock) {}

Routes ConvertHandler::routes() {
  return {{.method = HttpMethod::kPost,
           .path = std::string(kConvertPath),
           .handler = [this](const HttpRequest& request) { return convert(request.body); },
           .max_body_bytes = kMaxConversionBytes}};
}

HttpResponse ConvertHandler::convert(std::string_view body) {
  return counted_review(metrics_, events_, clock_, kConvertPath, [&](ReviewLabels& labels) {
    return body.size() > kLarge ? answer_large(body, labels) : answer(body, labels);
  });
}

ReviewAnswer ConvertHandler::answer_large(std::string_view body, ReviewLabels& labels) {
  MutexLock lock(large_);
  return answer(body, labels);
}

ReviewAnswer ConvertHandler::answer(std::string_view body, ReviewLabels& labels) const {
  auto answer = answer_conversion_review(body);
  if (!answer) return bad_request(answer.error());
  labels = metrics_.labels(labels.path, answer->kind);
  const bool failed = !answer->problem.empty();
  if (failed && events_) events_->on_event(ServerEvent::kConversionFailed, answer->problem);
  return {failed ? ReviewOutcome::kFailed : ReviewOutcome::kConverted,
          {200, "application/json", std::move(answer->body)}};
}

}  // namespace muster
