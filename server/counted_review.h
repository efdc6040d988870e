// Shared code of the handlers of reviews: each review is counted and timed with any result,
// and internal errors are caught here, and only here: one bad review must not end the
// process.
#pragma once

#include <functional>
#include <string_view>

#include "api/review/admission_review.h"
#include "server/metrics/metrics.h"
#include "server/transport/http.h"
#include "server/transport/server_events.h"

namespace muster::server {

struct ReviewAnswer {
  ReviewOutcome outcome;
  HttpResponse response;
};

// For a body that is no review: without its uid there is nothing to answer.
ReviewAnswer bad_request(const ReviewError& error);

// `answer` puts into the labels what it learns of the review. Its exceptions become a bare 500
// and an event; `events` can be null.
HttpResponse counted_review(Metrics& metrics, ServerEventSink* events, const Clock& clock, std::string_view path,
                            const std::function<ReviewAnswer(ReviewLabels& labels)>& answer);

}  // namespace muster::server
