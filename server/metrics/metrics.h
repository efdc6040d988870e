// What muster counts and measures, for Prometheus: its own families, and those that
// dashboards for controller-runtime's webhooks know.
//
// Children of a family are looked up once and kept: on the request path a count is
// one atomic load and one atomic add. Labels come from fixed lists (paths, kinds,
// rules); all other values are counted as "other", so that clients cannot add
// series.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/review/admission_review.h"
#include "base/clock.h"

namespace prometheus {
class Collectable;
class Registry;
}  // namespace prometheus

namespace muster::server {

struct MetricsOptions {
  std::string version;  // of muster, for muster_build_info
  std::vector<std::string> paths = {"/mutate", "/validate", "/convert"};
  std::vector<std::string> kinds = {"Job", "JobSet", "Workload", "LocalQueue", "ClusterQueue", "Cohort"};
  std::vector<std::string> rules;  // names of all mutators and validators
};

enum class ReviewOutcome {
  kAllowed,  // unchanged
  kPatched,
  kDenied,       // by a rule
  kUnavailable,  // before the first sync
  kBadRequest,   // no AdmissionReview
  kConverted,
  kFailed,  // a conversion, because of an object
  kError,   // a fault of muster's own
};
inline constexpr size_t kReviewOutcomes = 8;
std::string_view to_text(ReviewOutcome outcome);

// Where a review is counted; made once per request.
struct ReviewLabels {
  size_t path = 0;
  size_t kind = 0;
  size_t operation = 0;
};

// Thread-safe.
class Metrics {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics();

  size_t path_index(std::string_view path) const;
  // Before the body is decoded neither kind nor operation are known.
  ReviewLabels labels(size_t path) const;
  ReviewLabels labels(size_t path, std::string_view kind, Operation operation) const;
  // Of a conversion, which has no operation.
  ReviewLabels labels(size_t path, std::string_view kind) const;

  void review_started(size_t path);
  void review_finished(const ReviewLabels& labels, ReviewOutcome outcome, int http_status, Duration took);
  void rule_finished(std::string_view rule, const ReviewLabels& labels, Duration took);
  void set_certificate_expiry(TimePoint not_after);

  // `count` is asked whenever metrics are read, for muster_open_connections{listener}.
  // What it refers to must live until the last expose().
  void watch_connections(const std::string& listener, std::function<size_t()> count);

  // Shows `others` too from now on (ClientMetrics has some).
  void include(std::shared_ptr<prometheus::Collectable> others);

  // For families of other parts of muster; lives as long as this object.
  prometheus::Registry& registry();

  // Everything in Prometheus' text format.
  std::string expose() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace muster::server
