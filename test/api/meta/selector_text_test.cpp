// Label selectors as people write them, as apimachinery's labels.Parse reads them.
#include "api/meta/selector_text.h"

#include <doctest/doctest.h>

namespace muster::selector_text_test {

TEST_CASE("a selector's text is read as Kubernetes reads it") {
  struct Row {
    const char* text;
    bool gold, plain;  // whether it matches {team: a, tier: gold, n: "5"}, and no labels
  };
  const Row rows[] = {
      {"", true, true},
      {"team=a", true, false},
      {" team == a , tier = gold ", true, false},
      {"team=b", false, false},
      {"team!=b", true, true},
      {"team!=a", false, true},
      {"tier in (silver, gold)", true, false},
      {"tier in(silver)", false, false},
      {"tier notin (silver)", true, true},
      {"tier notin (gold,silver)", false, true},
      {"tier", true, false},
      {"!tier", false, true},
      {"! debug,team", true, false},
      {"debug=", false, false},
      {"team in (,a)", true, false},
      {"n>4,n<6", true, false},
      {"n>5", false, false},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto parsed = parse_selector_text(row.text);
    REQUIRE(parsed.ok());
    CHECK(matches_all(*parsed, {{"team", "a"}, {"tier", "gold"}, {"n", "5"}}) == row.gold);
    CHECK(matches_all(*parsed, {}) == row.plain);
  }
}

TEST_CASE("a selector that is none is refused, and says where") {
  struct Row {
    std::string text, message;
  };
  const Row rows[] = {
      {"team=a,", "the text ends where the name of a label must be"},
      {",team=a", "there is \",\" where the name of a label must be"},
      {"team a", "there is \"a\" where one of =, ==, !=, in, notin, < and > must be"},
      {"team in a", "there is \"a\" where an opening parenthesis must be"},
      {"team in (a", "the text ends where a comma or a closing parenthesis must be"},
      {"team=a b", "there is \"b\" where a comma must be"},
      {"!", "the text ends where the name of a label must be"},
      {std::string(1025, 'a'), "a label selector has at most 1024 characters"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto parsed = parse_selector_text(row.text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().message == row.message);
  }
  for (const char* text : {"-a=b", "a=_", "a>x", "a>", "a in (\"b\")", "x/y/z"}) {
    INFO(text);
    CHECK_FALSE(parse_selector_text(text).ok());
  }
}

}  // namespace muster::selector_text_test
