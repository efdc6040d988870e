// What reaches a rule: the rule's match, and the webhook entry that sends the request (manifests/webhooks.h). Every
// golden case in which a rule does something must be a request that some entry sends, or the rule is switched off.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "manifests/webhooks.h"
#include "mutators/mutator.h"
#include "test/cases/golden_cases.h"
#include "test/cases/webhook_filter.h"
#include "validators/validator.h"

namespace sent_test {

using namespace muster;
using nlohmann::json;
using test::GoldenCase;

namespace {

// As muster registers itself where it runs with the settings of the case.
manifests::WebhookRegistration registration_of(const RuleSettings& settings) {
  manifests::WebhookRegistration registration;
  registration.manage_jobs_without_queue_name = settings.manage_jobs_without_queue_name;
  registration.managed_namespaces = settings.managed_jobs_namespace_selector;
  registration.every_jobset = settings.runs_jobsets();
  registration.group_scheduling = settings.group_scheduling;
  registration.frameworks = settings.frameworks;
  return registration;
}

// What muster reads of the cluster for its entries and the API server for its selectors.
struct Namespaces {
  explicit Namespaces(const GoldenCase& golden) {
    std::set<std::string> found;
    for (const json& object : golden.content.value("view", json::array())) {
      const std::string_view kind = string_at(object, {"kind"}), name = string_at(object, {"metadata", "name"});
      if (kind == "LocalQueue" && name == "default") found.emplace(string_at(object, {"metadata", "namespace"}));
      if (kind != "Namespace" || name != golden.request.namespace_) continue;
      for (const auto& [key, value] : object_at(object, {"metadata", "labels"}).items())
        labels[key] = value.get<std::string>();
    }
    const json said = golden.content.value("namespaceLabels", json::object());
    for (const auto& [key, value] : said.items()) labels[key] = value.get<std::string>();
    with_default_queue = {found.begin(), found.end()};
  }

  std::vector<std::string> with_default_queue;
  std::map<std::string, std::string> labels;  // of the request's own
};

test::SentBy sent_by(manifests::WebhookKind kind, const GoldenCase& golden, const AdmissionRequest& request) {
  const Namespaces namespaces(golden);
  return test::entries_that_send(
      manifests::webhook_entries(kind, registration_of(golden.settings), namespaces.with_default_queue, ""), request,
      namespaces.labels);
}

// The rules that did something.
class Active : public RuleObserver {
 public:
  void started(std::string_view) override {}
  void finished(std::string_view rule, RuleOutcome outcome) override {
    if (outcome == RuleOutcome::kChanged || outcome == RuleOutcome::kRejected) rules.insert(std::string(rule));
  }
  std::set<std::string> rules;
};

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

struct Reached {
  std::set<std::string> rules;   // at work in a request that is sent
  std::set<std::string> unsent;  // at work where nothing sends the request
  std::vector<std::string> errors;
};

void add(Reached& reached, manifests::WebhookKind kind, const GoldenCase& golden, const AdmissionRequest& request,
         const std::set<std::string>& active) {
  const test::SentBy sent = sent_by(kind, golden, request);
  (sent.entries.empty() ? reached.unsent : reached.rules).insert(active.begin(), active.end());
  reached.errors.insert(reached.errors.end(), sent.errors.begin(), sent.errors.end());
}

Reached reached_by(const GoldenCase& golden) {
  Reached reached;
  Active mutating, validating;
  const AdmissionResponse mutated = mutators::mutate(golden.review(), &mutating);
  add(reached, manifests::WebhookKind::kMutating, golden, golden.request, mutating.rules);
  if (!mutated.is_allowed()) return reached;
  const AdmissionRequest request = golden.mutated_by(mutated);
  const AdmissionResponse validated = validators::validate({request, golden.view, golden.settings}, &validating);
  if (!validated.warnings().empty()) validating.rules.insert("a warning");
  for (const validators::Validator* validator : validators::all_validators()) {
    if (!validator->is_in_force(golden.settings) || !validator->warn) continue;
    if (applies(validator->matches, validator->operations, request) &&
        !validator->warn({request, golden.view, golden.settings}).empty())
      validating.rules.emplace(validator->name);
  }
  add(reached, manifests::WebhookKind::kValidating, golden, request, validating.rules);
  return reached;
}

}  // namespace

TEST_CASE("what a golden case shows happens in a cluster: a webhook entry sends the request") {
  std::set<std::string> reached, rules;
  for (const GoldenCase& golden : test::read_golden_cases()) {
    INFO(golden.file);
    const Reached by = reached_by(golden);
    for (const std::string& error : by.errors) CHECK_MESSAGE(false, error);
    CHECK_MESSAGE(by.unsent.empty(), "no entry sends what these rules deal with: ", joined(by.unsent));
    reached.insert(by.rules.begin(), by.rules.end());
  }
  for (const mutators::Mutator* mutator : mutators::mutator_chain())
    CHECK_MESSAGE(reached.contains(std::string(mutator->name)), mutator->name);
  for (const validators::Validator* validator : validators::all_validators())
    CHECK_MESSAGE(reached.contains(std::string(validator->name)), validator->name);
}

}  // namespace sent_test
