#include "engine/loop/write_answer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace write_answer_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

const Command kPatched{.id = 7, .write = {.verb = reconcilers::Verb::kPatch, .target = {&kJobs, "team-a", "train"}}};

json metadata(const char* version) {
  return {{"namespace", "team-a"}, {"name", "train"}, {"resourceVersion", version}};
}

}  // namespace

TEST_CASE("write answer: the object that the API server sends is taken as it is") {
  const ReadAnswer answer =
      answer_of_done(kPatched, {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", metadata("12")}});
  CHECK(answer.finished.id == 7);
  CHECK(answer.finished.outcome == reconcilers::WriteOutcome::kDone);
  CHECK(answer.finished.version == 0);
  CHECK_FALSE(answer.breakage);
  REQUIRE(answer.finished.object);
  CHECK(meta_of(*answer.finished.object).resource_version == 12);
}

TEST_CASE("write answer: of metadata alone the version counts, and the watch shows the rest") {
  const ReadAnswer answer = answer_of_done(
      kPatched, {{"apiVersion", "meta.k8s.io/v1"}, {"kind", "PartialObjectMetadata"}, {"metadata", metadata("13")}});
  CHECK(answer.finished.outcome == reconcilers::WriteOutcome::kDone);
  CHECK_FALSE(answer.finished.object);
  CHECK(answer.finished.version == 13);
}

TEST_CASE("write answer: an object that is gone leaves a Status or nothing") {
  for (const json& body : {json{{"kind", "Status"}, {"status", "Success"}, {"metadata", metadata("14")}}, json()}) {
    INFO(body.dump());
    const ReadAnswer answer = answer_of_done(kPatched, body);
    CHECK(answer.finished.outcome == reconcilers::WriteOutcome::kDone);
    CHECK_FALSE(answer.finished.object);
    CHECK(answer.finished.version == 0);
  }
}

TEST_CASE("write answer: the engine hears a sentence only from an API server that has read the request") {
  struct Row {
    reconcilers::WriteOutcome outcome;
    bool internal_error;
    const char* why;
  };
  const Row rows[] = {
      {reconcilers::WriteOutcome::kRefused, false, "no quota"}, {reconcilers::WriteOutcome::kFailed, true, "no quota"},
      {reconcilers::WriteOutcome::kFailed, false, ""},          {reconcilers::WriteOutcome::kConflict, false, ""},
      {reconcilers::WriteOutcome::kNotFound, false, ""},        {reconcilers::WriteOutcome::kAlreadyExists, false, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.outcome));
    const WriteFinished finished = answer_of_failed(kPatched, row.outcome, row.internal_error, "no quota");
    CHECK(finished.id == 7);
    CHECK(finished.outcome == row.outcome);
    CHECK(finished.why == row.why);
    CHECK_FALSE(finished.object);
  }
}

}  // namespace write_answer_test
