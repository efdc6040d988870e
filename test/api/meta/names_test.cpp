#include "api/meta/names.h"

#include <doctest/doctest.h>

#include "api/codec/go_strconv.h"
#include "api/codec/utf8.h"

namespace muster::names_test {
namespace {

using Check = std::vector<std::string> (*)(std::string_view);

// Whether the only complaint, if any, begins as expected; "" means valid.
void check_only(Check check, const std::string& value, const std::string& expected) {
  INFO(value);
  const std::vector<std::string> messages = check(value);
  if (expected.empty()) {
    CHECK(messages.empty());
  } else {
    REQUIRE(messages.size() == 1);
    CHECK(messages.front().substr(0, expected.size()) == expected);
  }
}

}  // namespace

TEST_SUITE("names") {
  TEST_CASE("names are judged in the words of Kubernetes") {
    struct Row {
      std::string name;
      Check check;
      std::string value;
      std::string complaint;
    };
    const Row rows[] = {
        {"a subdomain", is_dns1123_subdomain, "a.b-c.0", ""},
        {"a subdomain of 253", is_dns1123_subdomain, std::string(253, 'a'), ""},
        {"a subdomain of 254", is_dns1123_subdomain, std::string(254, 'a'), "must be no more than 253 characters"},
        {"an empty subdomain", is_dns1123_subdomain, "", "a lowercase RFC 1123 subdomain must consist"},
        {"two dots in a row", is_dns1123_subdomain, "a..b", "a lowercase RFC 1123 subdomain must consist"},
        {"an upper case letter", is_dns1123_subdomain, "A", "a lowercase RFC 1123 subdomain must consist"},
        {"a label", is_dns1123_label, "0-a", ""},
        {"a label with dots", is_dns1123_label, "a.b", "must not contain dots"},
        {"a label that ends with a dash", is_dns1123_label, "a-", "a lowercase RFC 1123 label must consist"},
        {"a label of 64", is_dns1123_label, std::string(64, 'a'), "must be no more than 63 characters"},
        {"a service name", is_dns1035_label, "a0", ""},
        {"a service name that starts with a digit", is_dns1035_label, "0a", "a DNS-1035 label must consist"},
        {"an empty service name", is_dns1035_label, "", "a DNS-1035 label must consist"},
        {"a plain key", is_qualified_name, "My_name.0", ""},
        {"a key with a prefix", is_qualified_name, "example.com/name", ""},
        {"a key of three parts", is_qualified_name, "a/b/c", "a valid label key must consist"},
        {"a key without a prefix before its slash", is_qualified_name, "/a", "prefix part must be non-empty"},
        {"a key with a bad prefix", is_qualified_name, "A/a", "prefix part a lowercase RFC 1123 subdomain"},
        {"a key of 64", is_qualified_name, std::string(64, 'a'), "name part must be no more than 63 bytes"},
        {"an empty label value", is_valid_label_value, "", ""},
        {"a label value with a blank", is_valid_label_value, "a b", "a valid label must be an empty string"},
        {"a label value of 64", is_valid_label_value, std::string(64, 'a'), "must be no more than 63 bytes"},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      check_only(row.check, row.value, row.complaint);
    }
  }

  TEST_CASE("an empty key has two complaints") {
    const auto messages = is_qualified_name("");
    REQUIRE(messages.size() == 2);
    CHECK(join(messages, "; ") ==
          "name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must "
          "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
          "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')");
  }

  TEST_CASE("a domain-prefixed path is blamed by the part that is wrong") {
    CHECK(is_domain_prefixed_path("f", "acme.io/foo").empty());
    CHECK(is_domain_prefixed_path("f", "")[0].text() == "f: Required value");
    CHECK(is_domain_prefixed_path("f", "foo")[0].text() ==
          "f: Invalid value: \"foo\": must be a domain-prefixed path (such as \"acme.io/foo\")");
    CHECK(is_domain_prefixed_path("f", "a/")[0].value == "\"a/\"");
    CHECK(is_domain_prefixed_path("f", "A/b")[0].value == "\"A\"");
    CHECK(is_domain_prefixed_path("f", "a/b c")[0].text() ==
          "f: Invalid value: \"b c\": Invalid path (regex used for validation is "
          "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
    CHECK(is_domain_prefixed_path("f", "A/b c").size() == 2);
  }
}

TEST_SUITE("go strconv") {
  TEST_CASE("integers are read as Go reads them") {
    struct Row {
      std::string name;
      std::string text;
      int64_t value;
      std::string error;
    };
    const Row rows[] = {
        {"zero", "0", 0, ""},
        {"a plus sign", "+5", 5, ""},
        {"leading zeros", "-007", -7, ""},
        {"the largest", "9223372036854775807", INT64_MAX, ""},
        {"the smallest", "-9223372036854775808", INT64_MIN, ""},
        {"one too large", "9223372036854775808", 0,
         "strconv.Atoi: parsing \"9223372036854775808\": value out of range"},
        {"one too small", "-9223372036854775809", 0,
         "strconv.Atoi: parsing \"-9223372036854775809\": value out of range"},
        {"nothing", "", 0, "strconv.Atoi: parsing \"\": invalid syntax"},
        {"a sign only", "-", 0, "strconv.Atoi: parsing \"-\": invalid syntax"},
        {"a fraction", "1.5", 0, "strconv.Atoi: parsing \"1.5\": invalid syntax"},
        {"a blank", " 1", 0, "strconv.Atoi: parsing \" 1\": invalid syntax"},
        {"digits and a letter beyond the range", "99999999999999999999x", 0,
         "strconv.Atoi: parsing \"99999999999999999999x\": invalid syntax"},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      const auto value = go_atoi(row.text);
      CHECK(value.ok() == row.error.empty());
      if (value.ok()) {
        CHECK(*value == row.value);
      } else {
        CHECK(value.error().message == row.error);
      }
    }
    CHECK(*go_parse_int("2147483647", 32) == 2147483647);
    CHECK(go_parse_int("2147483648", 32).error().message ==
          "strconv.ParseInt: parsing \"2147483648\": value out of range");
    CHECK(*go_parse_int("-2147483648", 32) == -2147483648);
  }

  TEST_CASE("booleans have exactly twelve spellings") {
    for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) CHECK(*go_parse_bool(yes));
    for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) CHECK_FALSE(*go_parse_bool(no));
    for (const char* neither : {"", "yes", "tRUE", " true", "2"}) CHECK_FALSE(go_parse_bool(neither).ok());
    CHECK(go_parse_bool("yes").error().message == "strconv.ParseBool: parsing \"yes\": invalid syntax");
  }

  TEST_CASE("quoted text shows what cannot be seen") {
    CHECK(go_quote("a\"b\\c") == "\"a\\\"b\\\\c\"");
    CHECK(go_quote(std::string_view("\a\n\t\0\x1f\x7f", 6)) == "\"\\a\\n\\t\\x00\\x1f\\x7f\"");
    CHECK(go_quote("µ日") == "\"µ日\"");
    CHECK(go_quote("\xc2\xa0\xef\xbb\xbf") == "\"\\u00a0\\ufeff\"");
    CHECK(go_quote("\xff\xc3") == "\"\\xff\\xc3\"");
    CHECK(go_quote("\xf3\xa0\x80\x81") == "\"\\U000e0001\"");
  }

  TEST_CASE("malformed UTF-8 is found at its first byte") {
    CHECK(find_invalid_utf8("plain µ 日 😀") == std::string_view::npos);
    CHECK(find_invalid_utf8("ab\xc0\x80") == 2);          // over-long
    CHECK(find_invalid_utf8("ab\xed\xa0\x80") == 2);      // surrogate
    CHECK(find_invalid_utf8("ab\xf4\x90\x80\x80") == 2);  // beyond U+10FFFF
    CHECK(find_invalid_utf8("ab\xe6\x97") == 2);          // truncated
    std::string text;
    for (char32_t c : {U'a', U'µ', U'日', U'😀'}) append_utf8(text, c);
    CHECK(text == "aµ日😀");
  }
}

}  // namespace muster::names_test
