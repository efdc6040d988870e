#include "api/conversion_review.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

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
