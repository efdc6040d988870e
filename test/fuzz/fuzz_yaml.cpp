// YAML: whatever the text, the answer is documents that survive being written and read
// again, or an error with a sentence and a place inside the text.
#include <algorithm>
#include <string>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

// Deep JSON goes in, but comes out as YAML, whose limit is lower.
bool is_deep(const nlohmann::json& value, size_t left = YamlLimits().max_depth) {
  if (!value.is_structured()) return false;
  if (left == 0) return true;
  return std::any_of(value.begin(), value.end(), [left](const auto& child) { return is_deep(child, left - 1); });
}

void check(std::string_view text) {
  const auto documents = read_yaml(text);
  if (!documents) {
    const YamlError& error = documents.error();
    REQUIRE_THAT(!error.message.empty());
    REQUIRE_THAT(error.line >= 1 && error.column >= 1);
    REQUIRE_THAT(error.line <= 2 + text.size());
    return;
  }
  size_t last_line = 0;
  for (const YamlDocument& document : *documents) {
    REQUIRE_THAT(document.line >= last_line);
    last_line = document.line;
    if (is_deep(document.value)) continue;
    const std::string written = write_yaml(document.value);
    const auto again = read_yaml(written);
    REQUIRE_THAT(again.ok());
    REQUIRE_THAT(again->size() == 1);
    REQUIRE_THAT(again->front().value == document.value);
    // A float of JSON that is whole comes back as an integer; from then on nothing changes.
    const std::string rewritten = write_yaml(again->front().value);
    const auto third = read_yaml(rewritten);
    REQUIRE_THAT(third.ok() && write_yaml(third->front().value) == rewritten);
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
