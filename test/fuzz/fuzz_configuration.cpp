// The configuration file, both documents: whatever the text, the answer is a configuration or an
// error with a sentence.
#include <string>
#include <string_view>

#include "api/config/configuration.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

void check(std::string_view text) {
  const auto loaded = load_configuration(text, "muster-system");
  if (!loaded.ok()) {
    REQUIRE_THAT(!loaded.error().text().empty());
    return;
  }
  for (const std::string& warning : loaded->warnings) REQUIRE_THAT(!warning.empty());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
