#include "base/did_you_mean.h"

#include <doctest/doctest.h>

#include <vector>

namespace did_you_mean_test {

using namespace muster;

TEST_CASE("the word that was meant is found by letters that differ, and no other is made up") {
  const std::vector<std::string> known = {"serve", "review", "manifests", "explain", "cohort"};
  CHECK(nearest_word("reviwe", known) == "review");
  CHECK(nearest_word("SERVE", known) == "serve");
  CHECK(nearest_word("manifest", known) == "manifests");
  CHECK(nearest_word("cohortName", known) == "cohort");
  CHECK(nearest_word("coh", known).empty());
  CHECK(nearest_word("delete", known).empty());
  CHECK(nearest_word("", known).empty());
  CHECK(nearest_word(std::string(100, 'r'), known).empty());
  CHECK(did_you_mean("reviw", known) == "; did you mean \"review\"?");
  CHECK(did_you_mean("xyz", known).empty());
}

TEST_CASE("a name that was meant can have a group before it") {
  const std::vector<std::string> known = {"batch/job", "pod", "ray.io/raycluster", "ray.io/rayjob", "statefulset"};
  CHECK(nearest_word("statefullset", known) == "statefulset");
  CHECK(nearest_word("rayjob", known) == "ray.io/rayjob");
  CHECK(nearest_word("pods", known) == "pod");
  CHECK(nearest_word("ray.com/rayjob", known) == "ray.io/rayjob");
  CHECK(nearest_word("tensorflow", known).empty());
}

}  // namespace did_you_mean_test
