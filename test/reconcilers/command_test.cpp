#include "reconcilers/command.h"

#include <doctest/doctest.h>

namespace command_test {

using namespace muster::reconcilers;

TEST_CASE("command: words of verbs and outcomes are read back") {
  for (const Verb verb : {Verb::kCreate, Verb::kPatch, Verb::kPatchStatus, Verb::kDelete, Verb::kFindPods}) {
    CHECK_FALSE(word_of(verb).empty());
    CHECK(find_verb(word_of(verb)) == verb);
  }
  for (const WriteOutcome outcome : {WriteOutcome::kDone, WriteOutcome::kConflict, WriteOutcome::kNotFound,
                                     WriteOutcome::kAlreadyExists, WriteOutcome::kRefused, WriteOutcome::kFailed}) {
    CHECK_FALSE(word_of(outcome).empty());
    CHECK(find_outcome(word_of(outcome)) == outcome);
  }
  CHECK_FALSE(find_verb("").has_value());
  CHECK_FALSE(find_outcome("patch").has_value());
}

}  // namespace command_test
