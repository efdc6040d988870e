#include "server/convert_handler.h"

#include <string>
#include <utility>

#include "api/conversion/conversion_review.h"

namespace muster::server {
ConvertHandler::ConvertHandler(Metrics& metrics, ServerEventSink* events, const Clock& clock,
                               const MemoryBudgets& budgets)
    : metrics_(metrics), events_(events), clock_(clock), most_tree_(budgets.conversion_tree) {}

Routes ConvertHandler::routes() const {
  return {{.method = HttpMethod::kPost,
           .path = std::string(kConvertPath),
           .handler = [this](const HttpRequest& request) { return convert(request.body); },
           .max_body_bytes = kMaxConversionBytes,
           .memory = [tree = most_tree_](size_t bytes) { return needs_of_conversion(bytes, tree).whole; },
           // The API server sends no certificate to converters. The answer contains only the objects of the
           // request.
           .strangers = true}};
}

HttpResponse ConvertHandler::convert(std::string_view body) const {
  return counted_review(metrics_, events_, clock_, kConvertPath,
                        [&](ReviewLabels& labels) { return answer(body, labels); });
}

ReviewAnswer ConvertHandler::answer(std::string_view body, ReviewLabels& labels) const {
  const ConversionNeeds needs = needs_of_conversion(body.size(), most_tree_);
  auto answer = answer_conversion_review(body, {.tree_bytes = needs.tree, .text_bytes = needs.text});
  if (!answer) return bad_request(answer.error());
  labels = metrics_.labels(labels.path, answer->kind);
  const bool failed = !answer->problem.empty();
  if (failed && events_) events_->on_event(ServerEvent::kConversionFailed, answer->problem);
  return {failed ? ReviewOutcome::kFailed : ReviewOutcome::kConverted,
          {200, "application/json", std::move(answer->body)}};
}

}  // namespace muster::server
