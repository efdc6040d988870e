#include "api/codec/cleanse_texts.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cleanse_texts_test {

using namespace muster;
using nlohmann::json;

TEST_CASE("cleanse texts: every text of a tree is overwritten where it lies") {
  json tree = {{"data", {{"ca.key", std::string(300, 'k')}, {"list", {std::string(300, 'l'), 5, nullptr}}}},
               {"kind", "Secret"}};
  const char* const key = tree["data"]["ca.key"].get_ref<std::string&>().data();
  const char* const item = tree["data"]["list"][0].get_ref<std::string&>().data();
  cleanse_texts(tree);
  CHECK(tree == json{{"data", {{"ca.key", ""}, {"list", {"", 5, nullptr}}}}, {"kind", ""}});
  // The texts keep their memory as long as the tree is there.
  CHECK(std::string_view(key, 300) == std::string(300, '\0'));
  CHECK(std::string_view(item, 300) == std::string(300, '\0'));
}

}  // namespace cleanse_texts_test
