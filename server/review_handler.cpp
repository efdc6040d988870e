#include "server/review_handler.h"

#include <set>
#include <utility>

#include "api/codec/tree_memory.h"
#include "kinds/watched_kinds.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace muster::server {

namespace {

class RuleTimer final : public RuleObserver {
 public:
  RuleTimer(Metrics& metrics, const ReviewLabels& labels, const Clock& clock)
      : metrics_(metrics), labels_(labels), clock_(clock) {}

  bool wants_changes() const override { return false; }
  void started(std::string_view) override { began_ = clock_.now().monotonic; }
  void finished(std::string_view rule, RuleOutcome) override {
    metrics_.rule_finished(rule, labels_, clock_.now().monotonic - began_);
  }

 private:
  Metrics& metrics_;
  const ReviewLabels& labels_;
  const Clock& clock_;
  MonotonicTime began_;
};

ReviewOutcome outcome_of(const AdmissionResponse& response) {
  if (!response.is_allowed()) return ReviewOutcome::kDenied;
  return response.patch().empty() ? ReviewOutcome::kAllowed : ReviewOutcome::kPatched;
}

}  // namespace

ReviewHandler::ReviewHandler(SettingsProvider settings, ViewProvider view, Metrics& metrics, ServerEventSink* events,
                             const Clock& clock, const MemoryBudgets& budgets)
    : settings_(std::move(settings)),
      view_(std::move(view)),
      metrics_(metrics),
      events_(events),
      clock_(clock),
      most_tree_(budgets.review_tree) {}

Routes ReviewHandler::routes() const {
  const auto route = [this](std::string path, ReviewFunction rules) {
    return Route{.method = HttpMethod::kPost,
                 .path = path,
                 .handler = [this, path, rules = std::move(rules)](
                                const HttpRequest& request) { return review(rules, path, request.body); },
                 .memory = [tree = most_tree_](size_t bytes) { return memory_of_review(bytes, tree); }};
  };
  return {route("/mutate", mutators::mutate), route("/validate", validators::validate)};
}

HttpResponse ReviewHandler::review(const ReviewFunction& rules, std::string_view path, std::string_view body) const {
  return counted_review(metrics_, events_, clock_, path,
                        [&](ReviewLabels& labels) { return answer(rules, body, labels); });
}

ReviewAnswer ReviewHandler::answer(const ReviewFunction& rules, std::string_view body, ReviewLabels& labels) const {
  const auto request = decode_review_within(body, tree_of_review(body.size(), most_tree_));
  if (!request) return bad_request(request.error());
  labels = metrics_.labels(labels.path, request->kind, request->operation);
  const auto settings = settings_();
  const auto view = view_();
  if (!view) {
    const auto refusal = AdmissionResponse::refused(
        *request, 503, "ServiceUnavailable",
        "muster has just started and does not know the cluster yet: try again in a few seconds");
    return {ReviewOutcome::kUnavailable, {200, "application/json", refusal.encode()}};
  }
  RuleTimer timer(metrics_, labels, clock_);
  const auto response = rules(Review{*request, *view, *settings}, &timer);
  return {outcome_of(response), {200, "application/json", response.encode()}};
}

std::vector<std::string> all_rule_names() {
  std::vector<std::string> names;
  for (const auto* mutator : mutators::mutator_chain()) names.emplace_back(mutator->name);
  for (const auto* validator : validators::all_validators()) names.emplace_back(validator->name);
  return names;
}

std::vector<std::string> all_reviewed_kinds() {
  std::set<std::string> kinds;
  const auto add = [&](const std::vector<RuleMatch>& matches) {
    for (const RuleMatch& rule : matches) {
      for (const RuleMatch& match : expand(rule)) {
        for (const WatchedKind& watched : watched_kinds()) {
          if (watched.type->group == match.group && watched.type->plural == match.resource)
            kinds.emplace(watched.type->kind);
        }
      }
    }
  };
  for (const auto* mutator : mutators::mutator_chain()) add(mutator->matches);
  for (const auto* validator : validators::all_validators()) add(validator->matches);
  return {kinds.begin(), kinds.end()};
}

}  // namespace muster::server
