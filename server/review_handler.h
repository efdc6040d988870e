// Bytes to AdmissionReview to rules and back: what /mutate and /validate do.
//
// Reviews have no side effects, so dry-run is the same code. A body that is no review
// gets a plain HTTP error, because without its uid there is nothing to answer; every
// other answer is an AdmissionReview made from its request.
#pragma once

#include <functional>
#include <memory>

#include "api/config/rule_settings.h"
#include "api/review/cluster_view.h"
#include "api/review/review.h"
#include "server/counted_review.h"
#include "server/transport/memory_budgets.h"

namespace muster::server {

// Both are asked once per review, on worker threads.
using SettingsProvider = std::function<std::shared_ptr<const RuleSettings>()>;
// nullptr until the first sync with the API server: reviews are refused with 503 until then.
using ViewProvider = std::function<ClusterViewPtr()>;

// The two ways to review; the real ones are mutators::mutate and validators::validate.
using ReviewFunction = std::function<AdmissionResponse(const Review& review, RuleObserver* observer)>;

// Thread-safe.
class ReviewHandler {
 public:
  // `metrics`, `events` (can be null) and `clock` outlive the handler and its routes.
  ReviewHandler(SettingsProvider settings, ViewProvider view, Metrics& metrics, ServerEventSink* events = nullptr,
                const Clock& clock = system_clock(), const MemoryBudgets& budgets = budgets_of(kDefaultMemoryLimit));

  // POST /mutate and /validate; they refer to this handler.
  Routes routes() const;

  // One review with the given rules, counted under `path`.
  HttpResponse review(const ReviewFunction& rules, std::string_view path, std::string_view body) const;

 private:
  ReviewAnswer answer(const ReviewFunction& rules, std::string_view body, ReviewLabels& labels) const;

  const SettingsProvider settings_;
  const ViewProvider view_;
  Metrics& metrics_;
  ServerEventSink* const events_;
  const Clock& clock_;
  const size_t most_tree_;
};

// The names of all rules, and of all kinds that a rule sees, for MetricsOptions.
std::vector<std::string> all_rule_names();
std::vector<std::string> all_reviewed_kinds();

}  // namespace muster::server
