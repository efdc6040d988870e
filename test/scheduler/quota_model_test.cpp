// The ledger beside a model that counts from nothing, over random histories.
#include <doctest/doctest.h>

#include <cstdlib>

#include "test/scheduler/quota_history.h"
#include "test/support/soak.h"

namespace quota_model_test {

using namespace muster::test;

namespace {

constexpr int kSteps = 40;

// Of the environment: one history, again.
std::optional<uint64_t> chosen_seed() {
  const char* text = std::getenv("MUSTER_SEED");
  return text == nullptr ? std::nullopt : std::optional<uint64_t>(std::strtoull(text, nullptr, 10));
}

std::string trace_of(const QuotaSteps& steps) {
  std::string text;
  for (const QuotaStep& step : steps) text += "  " + step.text() + "\n";
  return text + "  " + run_quota_steps(steps)->what;
}

}  // namespace

TEST_CASE("quota model: in any history the ledger says what a count from nothing says") {
  const uint64_t first = chosen_seed().value_or(1);
  const uint64_t last = chosen_seed() ? first : soak_seeds(2'000, 200'000);
  for (uint64_t seed = first; seed <= last; ++seed) {
    const QuotaSteps steps = random_quota_steps(seed, kSteps);
    if (!run_quota_steps(steps)) continue;
    FAIL("seed " << seed << "; to run it again:\n  MUSTER_SEED=" << seed
                 << " build/test/scheduler_test -tc='quota model: in any*'\nits shortest part:\n"
                 << trace_of(shrink_quota_steps(steps)));
  }
}

TEST_CASE("quota model: the definition on examples that are counted by hand") {
  QuotaModel model;
  model.nodes["team"] = {.limits = {{0, {.nominal = 2}}}};
  model.nodes["lender"] = {.queue = true, .parent = "team", .limits = {{0, {.nominal = 10, .lending = 4}}}};
  model.nodes["borrower"] = {.queue = true, .parent = "team", .limits = {{0, {.nominal = 1, .borrowing = 5}}}};
  CHECK(model.has("team", 0) == 7);  // 2, 4 lent, 1
  CHECK(model.keeps("lender", 0) == 6);
  CHECK(model.available("borrower", 0, 100) == 6);  // its 1 and 5 borrowed
  CHECK(model.available("lender", 0, 100) == 13);   // its 10, the Cohort's 2, the borrower's 1
  model.nodes["lender"].own_use[0] = 9;
  CHECK(model.uses("team", 0) == 3);  // beyond the 6 that it keeps
  CHECK(model.available("borrower", 0, 100) == 4);
  model.nodes["team"].parent = "lender";
  model.nodes["lender"].parent = "team";
  CHECK(model.in_cycle("borrower"));
}

}  // namespace quota_model_test
