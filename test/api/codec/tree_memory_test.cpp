#include "api/codec/tree_memory.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"
#include "api/review/admission_review.h"

namespace tree_memory_test {
namespace {
// What this thread has allocated and not freed, and the most of it.
thread_local size_t held = 0, most_held = 0;
constexpr size_t kHeader = 2 * sizeof(size_t);
}  // namespace
}  // namespace tree_memory_test

void* operator new(size_t size) {
  auto* block = static_cast<size_t*>(std::malloc(size + tree_memory_test::kHeader));
  if (block == nullptr) throw std::bad_alloc();
  *block = size;
  using tree_memory_test::held, tree_memory_test::most_held;
  held += size;
  if (held > most_held) most_held = held;
  return block + 2;
}
// std::stable_sort asks for this form, and gives the memory back to the operators below. The library's own would call
// the one above, but a sanitizer's does not.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  size_t* block = static_cast<size_t*>(memory) - 2;
  tree_memory_test::held -= *block;
  std::free(block);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}

namespace tree_memory_test {

using namespace muster;

namespace {

std::string repeated(const std::string& unit, size_t times, const char* brackets = "[]") {
  std::string text(1, brackets[0]);
  for (size_t i = 0; i < times; ++i) text += (i > 0 ? "," : "") + unit;
  return text + brackets[1];
}

std::string members(size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  return text + "}";
}

// The densest shapes, and those of real objects.
struct Shape {
  std::string name;
  std::string text;
};
std::vector<Shape> shapes() {
  constexpr size_t kTimes = 17'000;  // just beyond a power of two: the array has just doubled
  return {{"numbers", repeated("0", kTimes)},
          {"empty objects", repeated("{}", kTimes)},
          {"empty arrays", repeated("[]", kTimes)},
          {"empty strings", repeated(R"("")", kTimes)},
          {"nested", repeated("[[[[{}]]]]", kTimes)},
          {"objects in objects", repeated(R"({"":{"":{}}})", kTimes)},
          {"members", members(kTimes)},
          {"env", repeated(R"({"name":"A","value":"B"})", kTimes)},
          {"long strings", repeated("\"" + std::string(33, 'x') + "\"", kTimes)},
          {"long keys", repeated(R"({"a-key-that-is-quite-long-for-a-key":1})", kTimes)}};
}

}  // namespace

TEST_CASE("A tree never takes more than is counted while it is read, and that is not far from it") {
  for (const Shape& shape : shapes()) {
    CAPTURE(shape.name);
    const size_t before = most_held = held;
    const auto tree = parse_json(shape.text);
    REQUIRE(tree.ok());
    const size_t measured = most_held - before;
    CHECK(measured <= kTreeBytesPerByte * shape.text.size());
    // The counted size is the least budget that lets it pass.
    size_t refused = measured / 4, passed = 4 * measured + 4096;
    while (passed - refused > measured / 64) {
      const size_t middle = (passed + refused) / 2;
      (parse_json_within(shape.text, middle).ok() ? passed : refused) = middle;
    }
    MESSAGE(shape.name << ": " << static_cast<double>(measured) / static_cast<double>(shape.text.size())
                       << " bytes for each byte, counted "
                       << static_cast<double>(passed) / static_cast<double>(measured) << " times that");
    CHECK(passed + measured / 64 >= measured);
    CHECK(passed <= 3 * measured);
    CHECK(passed <= kTreeBytesPerByte * shape.text.size() + measured / 64);
  }
}

TEST_CASE("A document whose tree would be too large is refused with a sentence") {
  const std::string text = repeated("{}", 10'000);
  CHECK(parse_json_within(text, 1'100'000).ok());
  for (const auto& refused : {parse_json_within(text, 100'000), parse_without_managed_fields_within(text, 100'000)}) {
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message ==
          "as a tree it would take more than the 100000 bytes of memory that one document may take: it has too many "
          "values");
  }
}

TEST_CASE("A review whose tree would be too large is refused") {
  const std::string body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
                           R"("operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},)"
                           R"("object":{"x":)" +
                           repeated("{}", 10'000) + "}}}";
  CHECK(decode_review_within(body, 1'100'000).ok());
  const auto refused = decode_review_within(body, 500'000);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("too many values") != std::string::npos);
}

}  // namespace tree_memory_test
