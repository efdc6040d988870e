#include "api/conversion/conversion_review.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace conversion_review_test {

using namespace muster;
using nlohmann::json;

namespace {

json cohort(const char* name, const char* parent) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta1"},
          {"kind", "Cohort"},
          {"metadata", {{"name", name}}},
          {"spec", {{"parentName", parent}}}};
}

json review_of(json objects, const char* to = "kueue.x-k8s.io/v1beta2") {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "ConversionReview"},
          {"request", {{"uid", "u-1"}, {"desiredAPIVersion", to}, {"objects", std::move(objects)}}}};
}

json response_to(const std::string& body) {
  const auto answer = answer_conversion_review(body);
  REQUIRE(answer.ok());
  const json review = json::parse(answer->body);
  CHECK(review["apiVersion"] == "apiextensions.k8s.io/v1");
  CHECK(review["kind"] == "ConversionReview");
  CHECK(review["response"]["uid"] == "u-1");
  CHECK((review["response"]["result"]["status"] == "Success") == answer->problem.empty());
  return review["response"];
}

}  // namespace

TEST_CASE("Every object of a conversion review is answered in its place") {
  json queue = cohort("q", "");
  queue["kind"] = "LocalQueue";
  queue["spec"] = {{"clusterQueue", "cq"}};
  const json response = response_to(review_of({cohort("a", "p"), queue, cohort("b\"]}", "[{")}).dump(2));
  REQUIRE(response["convertedObjects"].size() == 3);
  CHECK(response["convertedObjects"][0]["metadata"]["name"] == "a");
  CHECK(response["convertedObjects"][1]["kind"] == "LocalQueue");
  CHECK(response["convertedObjects"][2]["metadata"]["name"] == "b\"]}");
  CHECK(response["convertedObjects"][2]["spec"]["parentName"] == "[{");
  for (const json& object : response["convertedObjects"]) CHECK(object["apiVersion"] == "kueue.x-k8s.io/v1beta2");
}

TEST_CASE("A conversion review of no objects is answered with none") {
  for (const json& none : {json::array(), json()}) {
    const json response = response_to(review_of(none).dump());
    CHECK(response["convertedObjects"] == json::array());
    CHECK(response["result"]["status"] == "Success");
  }
}

TEST_CASE("One object that cannot be converted fails the whole review by its name") {
  json broken = cohort("broken", "p");
  broken["metadata"]["namespace"] = "ns";
  broken["spec"] = 7;
  const json response = response_to(review_of({cohort("a", "p"), broken}).dump());
  CHECK(response["result"]["status"] == "Failure");
  CHECK(response["result"]["message"] ==
        "Cohort ns/broken (request.objects[1]) cannot be converted: spec must be an object");
  CHECK(response["convertedObjects"].empty());
}

TEST_CASE("An unknown version is a failure of the review and names it") {
  const json response = response_to(review_of({cohort("a", "p")}, "kueue.x-k8s.io/v2").dump());
  CHECK(response["result"]["status"] == "Failure");
  CHECK(response["result"]["message"].get<std::string>().find("kueue.x-k8s.io/v2") != std::string::npos);
}

TEST_CASE("An object that is no JSON fails the review although its envelope is well") {
  std::string body = review_of({cohort("a", "p")}).dump();
  for (const auto& [from, to] :
       {std::pair{"\"spec\":{", "\"spec\":{7,"}, std::pair{"\"spec\":{", "\"kind\":\"x\",\"spec\":{"}}) {
    std::string spoilt = body;
    spoilt.replace(spoilt.find(from), std::string(from).size(), to);
    CHECK(response_to(spoilt)["result"]["status"] == "Failure");
  }
}

TEST_CASE("A body that is no conversion review is refused whole") {
  json no_uid = review_of(json::array());
  no_uid["request"].erase("uid");
  json other_kind = review_of(json::array());
  other_kind["kind"] = "AdmissionReview";
  json no_list = review_of(json::array());
  no_list["request"]["objects"] = 7;
  const std::string good = review_of({cohort("a", "p")}).dump();
  std::string escaped = good;
  escaped.replace(escaped.find("\"objects\""), 9, "\"obj\\u0065cts\"");
  std::string dangling = good;
  dangling.replace(dangling.rfind("}]"), 2, "},]");
  const struct {
    const char* name;
    std::string body;
  } rows[] = {
      {"an empty body", ""},
      {"no JSON", "{"},
      {"an array", "[]"},
      {"no uid", no_uid.dump()},
      {"another kind", other_kind.dump()},
      {"objects that are no list", no_list.dump()},
      {"a key with escapes, which would hide the objects from the first look", escaped},
      {"a comma behind the last object", dangling},
      {"something behind the end", good + "x"},
      {"cut off in the middle of an object", good.substr(0, good.size() - 20)},
      {"the objects twice", std::string(good).insert(good.find("\"objects\""), "\"objects\":[],")},
  };
  for (const auto& row : rows) {
    INFO(std::string(row.name));
    const auto answer = answer_conversion_review(row.body);
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().http_status == 400);
    CHECK(answer.error().message.find("ConversionReview") != std::string::npos);
  }
}

namespace {

// A Workload whose slice stands for many domains.
json workload_of_domains(int domains, const std::string& value = "x") {
  return json::parse(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"w","namespace":"n"},
    "spec":{},"status":{"admission":{"clusterQueue":"c","podSetAssignments":[{"name":"main","topologyAssignment":{
    "levels":["host"],"slices":[{"domainCount":)" +
      std::to_string(domains) + R"(,"podCounts":{"universal":1},
    "valuesPerLevel":[{"universal":")" +
      value + R"("}]}]}}]}}})");
}

}  // namespace

TEST_CASE("A review whose answer would outgrow its budget fails with a sentence, before the domains are made") {
  for (const std::string& value : {std::string("x"), std::string(1000, 'x')}) {
    const std::string body =
        review_of(json::array({workload_of_domains(100'000, value)}), "kueue.x-k8s.io/v1beta1").dump();
    const auto answer = answer_conversion_review(body, {.text_bytes = 1'000'000});
    REQUIRE(answer.ok());
    CHECK(answer->problem.find("Workload n/w (request.objects[0]) cannot be converted: status.admission."
                               "podSetAssignments[0].topologyAssignment.slices[0] stands for 100000 domains") == 0);
    CHECK(answer->body.size() < 2000);
  }
  const std::string body = review_of(json::array({workload_of_domains(10'000)}), "kueue.x-k8s.io/v1beta1").dump();
  CHECK(answer_conversion_review(body, {.text_bytes = 1'000'000})->problem.empty());
  CHECK(answer_conversion_review(body, {.tree_bytes = 100'000})->problem.find("domains") != std::string::npos);
}

TEST_CASE("The budget of an answer is one for all objects of the review") {
  const json objects(20, workload_of_domains(10'000));
  const std::string body = review_of(objects, "kueue.x-k8s.io/v1beta1").dump();
  CHECK(answer_conversion_review(body)->problem.empty());
  const auto answer = answer_conversion_review(body, {.text_bytes = 2'000'000});
  CHECK(answer->problem.find("topologyAssignment.slices[0] stands for 10000 domains") != std::string::npos);
  CHECK(answer->problem.find("request.objects[0]") == std::string::npos);
  // Without domains it is the text of the objects that counts.
  const std::string cohorts = review_of(json(100, cohort("name", "parent"))).dump();
  CHECK(answer_conversion_review(cohorts, {.text_bytes = 1000})
            ->problem.find("the answer to this review would be larger than the 1000 bytes that it may have") !=
        std::string::npos);
}

TEST_CASE("Many small values instead of objects take no memory each") {
  std::string numbers = "0";
  for (int i = 0; i < 100'000; ++i) numbers += ",0";
  const std::string body =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u-1",)"
      R"("desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":[)" +
      numbers + "]}}";
  const auto answer = answer_conversion_review(body, {.tree_bytes = 10'000});
  REQUIRE(answer.ok());
  CHECK(answer->objects == 100'001);
  CHECK(answer->problem.find("request.objects[0]") != std::string::npos);
}

TEST_CASE("A universal value that is no string, or a count that is no number, is refused") {
  json values = workload_of_domains(2);
  values.at(
      "/status/admission/podSetAssignments/0/topologyAssignment/slices/0/valuesPerLevel/0/universal"_json_pointer) =
      json::array({1, 2});
  json counts = workload_of_domains(2);
  counts.at("/status/admission/podSetAssignments/0/topologyAssignment/slices/0/podCounts/universal"_json_pointer) = "1";
  CHECK(answer_conversion_review(review_of(json::array({values}), "kueue.x-k8s.io/v1beta1").dump())
            ->problem.find("valuesPerLevel[0].universal must be a string") != std::string::npos);
  CHECK(answer_conversion_review(review_of(json::array({counts}), "kueue.x-k8s.io/v1beta1").dump())
            ->problem.find("podCounts.universal must be a number") != std::string::npos);
}

}  // namespace conversion_review_test
