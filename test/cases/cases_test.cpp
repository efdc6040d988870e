// Golden cases (golden_cases.h): each is one request and what becomes of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "mutators/mutator.h"
#include "test/cases/golden_cases.h"
#include "validators/validator.h"

namespace cases_test {

using namespace muster;
using nlohmann::json;
using test::GoldenCase;
using test::read_golden_cases;

namespace {

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::vector<std::string> expected_texts(const json& expect, const char* key) {
  return sorted(expect.value(key, std::vector<std::string>()));
}

// Compared as one text, so that a failure shows what was said.
std::string joined(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& line : texts) text += line + "\n";
  return text;
}

bool applies(const mutators::Mutator& mutator, const AdmissionRequest& request) {
  const auto& operations = mutator.operations;
  return std::find(operations.begin(), operations.end(), request.operation) != operations.end() &&
         std::any_of(mutator.matches.begin(), mutator.matches.end(), [&](const RuleMatch& match) {
           return match.group == request.group && match.resource == request.resource;
         });
}

// Checks what the case expects; the object as it is after mutation, for the validators.
void check_case(const GoldenCase& golden, RuleObserver* observer = nullptr) {
  const json& expect = golden.expect();
  const bool says_something = expect.contains("object") || expect.contains("patch") || expect.contains("errors") ||
                              expect.contains("refused") || expect.contains("warnings");
  CHECK(says_something);

  const AdmissionResponse mutated = mutators::mutate(golden.review(), observer);
  CHECK(mutated.is_allowed() == !expect.contains("refused"));
  if (!mutated.is_allowed()) {
    CHECK(mutated.message() == expect.value("refused", ""));
    return;
  }
  if (expect.contains("patch")) CHECK(mutated.patch() == expect["patch"]);

  AdmissionRequest again = golden.request;
  again.object = again.object.patch(mutated.patch());
  if (expect.contains("object")) CHECK(again.object == expect["object"]);
  CHECK_MESSAGE(mutators::mutate({again, golden.view, golden.settings}).patch().empty(),
                "a second pass through the chain changes the object again");

  const AdmissionRequest request = golden.mutated_by(mutated);
  const AdmissionResponse validated = validators::validate({request, golden.view, golden.settings}, observer);
  std::vector<std::string> errors;
  for (const FieldError& error : validated.errors()) errors.push_back(error.text());
  CHECK(joined(sorted(errors)) == joined(expected_texts(expect, "errors")));
  CHECK(validated.is_allowed() == errors.empty());
  CHECK(joined(sorted(validated.warnings())) == joined(expected_texts(expect, "warnings")));
}

// Which rules did something, over all cases.
class Witness : public RuleObserver {
 public:
  void started(std::string_view) override {}
  void finished(std::string_view rule, RuleOutcome outcome) override {
    if (outcome == RuleOutcome::kChanged || outcome == RuleOutcome::kRejected) active_.insert(rule);
  }
  bool saw(std::string_view rule) const { return active_.contains(rule); }

 private:
  std::set<std::string_view> active_;
};

}  // namespace

TEST_CASE("every golden case ends as its file says") {
  for (const GoldenCase& golden : read_golden_cases()) {
    INFO(golden.file, ": ", golden.content.at("description").get<std::string>());
    check_case(golden);
  }
}

TEST_CASE("every mutator run twice on a golden case changes nothing the second time") {
  for (const GoldenCase& golden : read_golden_cases()) {
    for (const mutators::Mutator* mutator : mutators::mutator_chain()) {
      if (!applies(*mutator, golden.request)) continue;
      INFO(golden.file, ": ", mutator->name);
      json object = golden.request.object;
      if (mutator->mutate(golden.review(), object)) continue;
      const json once = object;
      CHECK_FALSE(mutator->mutate(golden.review(), object).has_value());
      CHECK(object == once);
    }
  }
}

// A review is answered to whoever reaches the port, so it must not tell of tenants that it does
// not name.
TEST_CASE("what is in other namespaces changes no answer") {
  for (const GoldenCase& golden : read_golden_cases()) {
    INFO(golden.file);
    GoldenCase crowded = golden;
    for (const char* name : {"default", "queue", "train", "parent", "gone", "some"}) {
      const json metadata = {{"name", name}, {"namespace", "elsewhere"}, {"uid", name}};
      json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", metadata}, {"spec", json::object()}};
      crowded.view.put(job);
      crowded.view.put({{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}, {"metadata", metadata}});
      crowded.view.put({{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "LocalQueue"}, {"metadata", metadata}});
      crowded.view.put({{"apiVersion", "v1"}, {"kind", "LimitRange"}, {"metadata", metadata}});
    }
    check_case(crowded);
  }
}

TEST_CASE("every rule is seen at work by some golden case") {
  Witness witness;
  std::set<std::string_view> warned;
  for (const GoldenCase& golden : read_golden_cases()) {
    INFO(golden.file);
    check_case(golden, &witness);
    for (const validators::Validator* validator : validators::all_validators()) {
      if (!validator->is_in_force(golden.settings) || !validator->warn) continue;
      if (applies(validator->matches, validator->operations, golden.request) &&
          !validator->warn(golden.review()).empty())
        warned.insert(validator->name);
    }
  }
  for (const mutators::Mutator* mutator : mutators::mutator_chain())
    CHECK_MESSAGE(witness.saw(mutator->name), mutator->name);
  for (const validators::Validator* validator : validators::all_validators())
    CHECK_MESSAGE((witness.saw(validator->name) || warned.contains(validator->name)), validator->name);
}

}  // namespace cases_test
