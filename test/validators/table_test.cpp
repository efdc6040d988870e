#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "jobs/job_kind.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace table_test {

using namespace muster;
using namespace muster::validators;

namespace {

constexpr std::array<std::string_view, 8> kQueueResources = {
    "admissionchecks", "clusterqueues",           "cohorts",   "localqueues",
    "resourceflavors", "workloadpriorityclasses", "workloads", "workloads/status"};

bool is_known(const RuleMatch& match) {
  if (match == kQueuedJobs) return true;
  const auto kinds = jobs::job_kinds();
  // Pods in queues and members of gangs, and what the waiters of these read.
  if (match.group.empty())
    return match.resource == "pods" || match.resource == "pods/resize" || match.resource == "configmaps";
  if (match.group == "kueue.x-k8s.io") {
    return std::find(kQueueResources.begin(), kQueueResources.end(), match.resource) != kQueueResources.end();
  }
  return std::any_of(kinds.begin(), kinds.end(), [&](const jobs::JobKind* kind) {
    return kind->type.group == match.group && kind->type.plural == match.resource;
  });
}

template <class Rule>
void check_rule(const Rule& rule, std::set<std::string_view>& names) {
  INFO(rule.name);
  CHECK(names.insert(rule.name).second);
  CHECK_FALSE(rule.matches.empty());
  CHECK_FALSE(rule.operations.empty());
  for (const RuleMatch& match : rule.matches) CHECK_MESSAGE(is_known(match), match.group, " ", match.resource);
}

}  // namespace

TEST_CASE("every validator has a name of its own and matches only kinds that muster knows") {
  std::set<std::string_view> names;
  for (const Validator* validator : all_validators()) {
    check_rule(*validator, names);
    CHECK((validator->check != nullptr));
  }
  CHECK(names.contains("suspend_guard"));
}

TEST_CASE("the table of validators is in the order of their names") {
  const auto table = all_validators();
  CHECK(std::is_sorted(table.begin(), table.end(),
                       [](const Validator* a, const Validator* b) { return a->name < b->name; }));
}

TEST_CASE("every mutator has a name of its own and matches only kinds that muster knows") {
  std::set<std::string_view> names;
  for (const mutators::Mutator* mutator : mutators::mutator_chain()) {
    check_rule(*mutator, names);
    CHECK((mutator->mutate != nullptr));
  }
  CHECK(names.contains("suspend"));
}

}  // namespace table_test
