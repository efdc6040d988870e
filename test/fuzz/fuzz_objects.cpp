// The decoders of all kinds that muster watches: whatever JSON the API server sends, each reads
// an object of its kind under the name that stands there, and reads it again in the same way.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "kinds/typed_object.h"
#include "kinds/watched_kinds.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

// The kind that the object says it is, or else every one.
void check(std::string_view text) {
  const auto object = parse_json(text);
  if (!object.ok()) return;
  const std::string_view said = string_at(*object, {"kind"});
  for (const WatchedKind& kind : watched_kinds()) {
    if (said != kind.type->kind && !said.empty()) continue;
    const TypedObject read = read_object(*kind.type, *object);
    REQUIRE_THAT(type_of(read) == *kind.type);
    REQUIRE_THAT(key_of(read).name == string_at(*object, {"metadata", "name"}));
    REQUIRE_THAT(key_of(read) == key_of(read_object(*kind.type, *object)));
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
