// Whole ConversionReviews: whatever the bytes, the answer is a refusal with a sentence, or
// JSON with the review's uid that holds as many objects of the wanted version as were
// asked for, or none and the reason. What was converted can be converted back.
#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"
#include "api/conversion/conversion.h"
#include "api/conversion/conversion_review.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

using nlohmann::json;

void check_object(const json& object, std::string_view wanted) {
  REQUIRE_THAT(string_at(object, {"apiVersion"}) == wanted);
  const auto version = parse_queue_version(wanted);
  REQUIRE_THAT(version.ok());
  const QueueVersion other = *version == QueueVersion::kV1Beta1 ? QueueVersion::kV1Beta2 : QueueVersion::kV1Beta1;
  json back = object;
  if (!convert_object(back, other)) return;
  REQUIRE_THAT(convert_object(back, *version).ok());
}

void check(std::string_view body) {
  // As the server limits them, in small.
  const ConversionLimits limits{.tree_bytes = 4 * 1024 * 1024, .text_bytes = 4 * body.size() + 64 * 1024};
  const auto answer = answer_conversion_review(body, limits);
  if (!answer) {
    REQUIRE_THAT(!answer.error().message.empty());
    REQUIRE_THAT(answer.error().http_status == 400);
    return;
  }
  // A problem can quote a name; beside it the text that was converted is all there is.
  REQUIRE_THAT(answer->body.size() <= limits.text_bytes + 6 * body.size() + 4096);
  const auto read = parse_json(answer->body);
  REQUIRE_THAT(read.ok());
  const auto asked = parse_json(body);
  const bool failed = string_at(*read, {"response", "result", "status"}) == "Failure";
  REQUIRE_THAT(failed == !answer->problem.empty());
  // Only a review whose objects are all well can be answered as if they were.
  REQUIRE_THAT(failed || asked.ok());
  const json& objects = array_at(*read, {"response", "convertedObjects"});
  REQUIRE_THAT(objects.size() == (failed ? 0 : answer->objects));
  if (!asked.ok()) return;
  REQUIRE_THAT(string_at(*read, {"response", "uid"}) == string_at(*asked, {"request", "uid"}));
  REQUIRE_THAT(answer->objects == array_at(*asked, {"request", "objects"}).size());
  for (const json& object : objects) check_object(object, string_at(*asked, {"request", "desiredAPIVersion"}));
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
