#include "base/similar_text.h"

#include <doctest/doctest.h>

#include <string>

using namespace muster;

TEST_CASE("similar text: the name that was most likely meant is found and nothing far from it") {
  constexpr std::string_view kNames[] = {"batch/job", "pod", "ray.io/raycluster", "ray.io/rayjob", "statefulset"};
  struct Row {
    std::string name;
    std::string word;
    const char* meant;  // null: none
  };
  const Row rows[] = {
      {"a letter too many", "statefullset", "statefulset"},
      {"upper case", "StatefulSet", "statefulset"},
      {"the part after the slash", "rayjob", "ray.io/rayjob"},
      {"the plural", "pods", "pod"},
      {"a wrong group", "ray.com/rayjob", "ray.io/rayjob"},
      {"another word", "tensorflow", nullptr},
      {"nothing", "", nullptr},
      {"a book", std::string(1 << 20, 'x'), nullptr},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto meant = most_similar(row.word, kNames);
    CHECK(std::string(meant.value_or("(none)")) == (row.meant ? row.meant : "(none)"));
  }
}
