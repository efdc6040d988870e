// Large classes have a limit of public functions: who needs one more gives the class another shape.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "test/arrows/include_lines.h"
#include "test/support/files.h"

namespace public_functions_test {

namespace {

// Names with a parenthesis after them in the public part of the class, without its constructors and operators.
int public_functions_of(const std::string& text, const std::string& name) {
  const size_t begin = text.find("\nclass " + name + " {");
  REQUIRE(begin != std::string::npos);
  const size_t end = text.find("\n};", begin);
  const std::regex function(R"(^  (?! |//|explicit|static_assert|struct|using)[^=({;]*[\s&*]([a-z]\w*)\()");
  bool is_public = false;
  int count = 0;
  size_t line = begin + 1;
  while (line < end) {
    const size_t next = text.find('\n', line);
    const std::string words = text.substr(line, next - line);
    if (words == " public:") is_public = true;
    if (words == " private:" || words == " protected:") is_public = false;
    if (is_public && std::regex_search(words, function)) ++count;
    line = next + 1;
  }
  return count;
}

}  // namespace

TEST_CASE("public functions: they are counted") {
  const std::string text = R"(
class Store {
 public:
  explicit Store(int size);
  Store(Store&&) noexcept = default;
  Store& operator=(Store&&) noexcept = default;
  // A comment about find(name).
  const int* find(int key) const;
  template <class Value>
  Value find(int key) const {
    return other(key);
  }
  std::vector<int> all() const { return {}; }

 private:
  void grow(int by);
};
)";
  CHECK(public_functions_of(text, "Store") == 3);
}

TEST_CASE("public functions: the state and the engine have few") {
  const std::filesystem::path root = muster::test::source_tree();
  const struct {
    const char* header;
    const char* name;
    int most;
  } rows[] = {{"state/cluster_state.h", "ClusterState", 25}, {"engine/engine.h", "Engine", 15}};
  for (const auto& row : rows) {
    const int count = public_functions_of(muster::test::read_file(root / row.header), row.name);
    INFO(std::string(row.name) << " has " << count << " public functions; at most " << row.most);
    CHECK(count > 5);
    CHECK(count <= row.most);
  }
}

}  // namespace public_functions_test
