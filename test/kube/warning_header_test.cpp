#include "kube/transport/warning_header.h"

#include <doctest/doctest.h>

namespace warning_header_test {

using namespace muster::kube;
using Texts = std::vector<std::string>;

TEST_CASE("warnings: the texts are read and what is no warning of Kubernetes is left out") {
  const struct {
    const char* what;
    const char* value;
    Texts texts;
  } rows[] = {
      {"one", R"(299 - "unknown field \"spec.a\"")", {R"(unknown field "spec.a")"}},
      {"two in one header", R"(299 - "one", 299 api.example "two")", {"one", "two"}},
      {"with a date", R"(299 - "one" "Mon, 02 Jan 2006 15:04:05 GMT", 299 - "two")", {"one", "two"}},
      {"a comma in a text", R"(299 - "one, two")", {"one, two"}},
      {"another code", R"(110 - "stale")", {}},
      {"no end", R"(299 - "one)", {}},
      {"a backslash at the end", "299 - \"one\\", {}},
      {"nothing", "", {}},
      {"no text", "299 -", {}},
      {"no form at all", "be careful", {}},
  };
  for (const auto& row : rows) {
    INFO(std::string(row.what));
    CHECK(parse_warnings(row.value) == row.texts);
  }
}

}  // namespace warning_header_test
