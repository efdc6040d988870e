#include "api/review/admission_review.h"

#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "base/encoding.h"

namespace admission_review_test {

using namespace muster;
using nlohmann::json;

namespace {

json review_of(json changes) {
  json review = json::parse(R"({
    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
    "request": {
      "uid": "u-1", "operation": "CREATE", "name": "train", "namespace": "team-a", "dryRun": true,
      "kind": {"group": "batch", "version": "v1", "kind": "Job"},
      "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
      "userInfo": {"username": "ada", "groups": ["dev"]},
      "object": {"metadata": {"name": "train"}}, "oldObject": null}})");
  review.merge_patch(changes);
  return review;
}

}  // namespace

TEST_CASE("admission review: every part of a request arrives") {
  auto request = decode_review(review_of(json::object()).dump());
  REQUIRE(request.ok());
  CHECK(request->uid == "u-1");
  CHECK(request->operation == Operation::kCreate);
  CHECK(request->group == "batch");
  CHECK(request->version == "v1");
  CHECK(request->kind == "Job");
  CHECK(request->resource == "jobs");
  CHECK(request->name == "train");
  CHECK(request->namespace_ == "team-a");
  CHECK(request->dry_run);
  CHECK(request->user.username == "ada");
  CHECK(request->user.groups == std::vector<std::string>{"dev"});
  CHECK(request->object == json::parse(R"({"metadata": {"name": "train"}})"));
  CHECK(request->old_object.is_null());
}

TEST_CASE("admission review: managedFields are there where a job is changed, and nowhere else") {
  // `other`: a group that a field before the kind names.
  const auto has_them = [](const char* group, const char* operation, const char* other = "apps") -> bool {
    using ordered = nlohmann::ordered_json;
    const ordered object = {{"metadata", {{"name", "a"}, {"managedFields", ordered::array({ordered::object()})}}}};
    const ordered request = {{"uid", "u"},
                             {"options", {{"kind", {{"group", other}}}}},
                             {"kind", {{"group", group}, {"version", "v1"}, {"kind", "Any"}}},
                             {"operation", operation},
                             {"object", object},
                             {"oldObject", object}};
    const ordered review = {{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", request}};
    // As the API server orders the fields, and in another order.
    std::vector<bool> answers;
    for (const std::string& body : {review.dump(), json(review).dump()}) {
      const auto decoded = decode_review(body);
      REQUIRE(decoded.ok());
      CHECK(decoded->object.at("metadata").at("name") == "a");
      answers.push_back(decoded->object.at("metadata").contains("managedFields"));
    }
    CHECK(answers[0] == answers[1]);
    return answers[0];
  };
  CHECK(has_them("batch", "UPDATE"));
  CHECK_FALSE(has_them("kueue.x-k8s.io", "UPDATE", "batch"));
  CHECK(has_them("jobset.x-k8s.io", "UPDATE"));
  CHECK_FALSE(has_them("batch", "CREATE"));
  CHECK_FALSE(has_them("kueue.x-k8s.io", "UPDATE"));
}

TEST_CASE("admission review: what cannot be answered is named") {
  struct Row {
    std::string name;
    std::string body;
    const char* message;
  };
  const Row rows[] = {
      {"an empty body", "", "the body is empty"},
      {"a truncated body", review_of(json::object()).dump().substr(0, 60), "unexpected end of input"},
      {"a body that is no object", "[]", "must be a JSON object"},
      {"another kind", review_of({{"kind", "Job"}}).dump(), R"(kind is "Job")"},
      {"another version", review_of({{"apiVersion", "admission.k8s.io/v1beta1"}}).dump(),
       R"(apiVersion is "admission.k8s.io/v1beta1"; it must be "admission.k8s.io/v1")"},
      {"no request", review_of({{"request", nullptr}}).dump(), "request is missing"},
      {"no uid", review_of({{"request", {{"uid", nullptr}}}}).dump(), "request.uid"},
      {"a uid that is a number", review_of({{"request", {{"uid", 7}}}}).dump(), "request.uid"},
      {"an unknown operation", review_of({{"request", {{"operation", "PATCH"}}}}).dump(), "request.operation"},
      {"no kind", review_of({{"request", {{"kind", nullptr}}}}).dump(), "request.kind.kind"},
      {"no object", review_of({{"request", {{"object", nullptr}}}}).dump(), "request.object is missing"},
      {"an update without the old object", review_of({{"request", {{"operation", "UPDATE"}}}}).dump(),
       "request.oldObject is missing"},
      {"an object that is a list", review_of({{"request", {{"object", json::array()}}}}).dump(),
       "request.object must be an object"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    auto request = decode_review(row.body);
    REQUIRE_FALSE(request.ok());
    CHECK(request.error().http_status == 400);
    INFO(request.error().message);
    CHECK(request.error().message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("admission review: a response carries the uid of its request and the patch") {
  auto request = decode_review(review_of(json::object()).dump());
  REQUIRE(request.ok());
  const json unchanged = json::parse(AdmissionResponse::patched(*request, request->object).encode());
  CHECK(unchanged == json::parse(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
                                     "response":{"uid":"u-1","allowed":true}})"));

  json object = request->object;
  object["spec"]["suspend"] = true;
  const json changed = json::parse(AdmissionResponse::patched(*request, object).encode())["response"];
  CHECK(changed["patchType"] == "JSONPatch");
  auto patch = base64_decode(changed["patch"].get<std::string>());
  REQUIRE(patch.ok());
  CHECK(request->object.patch(json::parse(*patch)) == object);
}

TEST_CASE("admission review: a denial names every field and its reason") {
  auto request = decode_review(review_of(json::object()).dump());
  REQUIRE(request.ok());
  const auto response = AdmissionResponse::denied(
      *request, {forbidden("spec.suspend", "not now"), invalid("spec.parallelism", -1, "must not be negative")});
  CHECK_FALSE(response.is_allowed());
  const json status = json::parse(response.encode())["response"]["status"];
  CHECK(status["code"] == 422);
  CHECK(status["reason"] == "Invalid");
  CHECK(status["message"] ==
        "[spec.suspend: Forbidden: not now, spec.parallelism: Invalid value: -1: must not be negative]");
  CHECK(status["details"]["causes"][1] == json::parse(R"({"field":"spec.parallelism","reason":"FieldValueInvalid",
                                                          "message":"Invalid value: -1: must not be negative"})"));
  CHECK(status["details"]["name"] == "train");
}

TEST_CASE("admission review: a long warning is cut between characters") {
  auto request = decode_review(review_of(json::object()).dump());
  REQUIRE(request.ok());
  std::string text(255, 'x');
  text += "é!";
  const auto response = AdmissionResponse::allowed(*request).with_warnings({text, "short"});
  const json decoded = json::parse(response.encode())["response"]["warnings"];
  CHECK(decoded == json{std::string(255, 'x'), "short"});
}

}  // namespace admission_review_test
