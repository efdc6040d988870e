#include "api/codec/yaml.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "api/codec/json.h"
#include "api/codec/utf8.h"

namespace muster::yaml_test {
namespace {

using nlohmann::json;

json read_one(std::string_view text) {
  INFO(std::string(text));
  const auto documents = read_yaml(text);
  if (!documents.ok()) FAIL(documents.error().message);
  REQUIRE(documents->size() == 1);
  return documents->front().value;
}

// "line:column: message".
std::string error_of(std::string_view text, YamlLimits limits = {}) {
  INFO(std::string(text).substr(0, 200));
  const auto documents = read_yaml(text, limits);
  REQUIRE_FALSE(documents.ok());
  const YamlError& error = documents.error();
  return std::to_string(error.line) + ":" + std::to_string(error.column) + ": " + error.message;
}

}  // namespace

TEST_SUITE("yaml") {
  // Recorded from sigs.k8s.io/yaml 1.6.0: the scalar as the value of a key, and what became of it in JSON.
  TEST_CASE("scalars mean what they mean to kubectl") {
    struct Row {
      std::string scalar;
      std::string expected;
    };
    const Row rows[] = {
        {"yes", "true"},
        {"No", "false"},
        {"on", "true"},
        {"OFF", "false"},
        {"y", "true"},
        {"N", "false"},
        {"True", "true"},
        {"tRUE", R"("tRUE")"},
        {"~", "null"},
        {"Null", "null"},
        {"", "null"},
        {"010", "8"},
        {"08", "8"},
        {"0o17", "15"},
        {"0b101", "5"},
        {"-0x1f", "-31"},
        {"0XfF", "255"},
        {"1_000", "1000"},
        {"1__0", "10"},
        {"_1", R"("_1")"},
        {"+5", "5"},
        {".5", "0.5"},
        {".5_0", "0.5"},
        {"5.", "5"},
        {"1e3", "1000"},
        {"1.5e-3", "0.0015"},
        {"1e999", R"("1e999")"},
        {"1e-999", "0"},
        {"0x", R"("0x")"},
        {"0b2", R"("0b2")"},
        {"1:30", R"("1:30")"},
        {"190:20:30", R"("190:20:30")"},
        {"2001-01-01", R"("2001-01-01")"},
        {"2001-12-14 21:59:43", R"("2001-12-14 21:59:43")"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808"},
        {"18446744073709551616", "18446744073709551616.0"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"1.0", "1"},
        {"1d", R"("1d")"},
        {"5Gi", R"("5Gi")"},
        {"NaN", R"("NaN")"},
        {"Infinity", R"("Infinity")"},
        {R"("1")", R"("1")"},
        {"'yes'", R"("yes")"},
        {R"("")", R"("")"},
        {"!!str 1", R"("1")"},
        {"!!int \"5\"", "5"},
        {"!!float 1", "1"},
        {"!!bool \"yes\"", "true"},
        {"! 5", R"("5")"},
        {"!foo bar", R"("bar")"},
        {"!!binary aGVsbG8=", R"("hello")"},
        {"<<", R"("<<")"},
        {R"("\u00e9\n")", R"("é\n")"},
        {"[1, two, {a: b, c}]", R"([1, "two", {"a": "b", "c": null}])"},
        {"a:b#c", R"("a:b#c")"},
        {"a # comment", R"("a")"},
        {"|\n  one\n   two\n", R"("one\n two\n")"},
        {">-\n  one\n  two\n", R"("one two")"},
    };
    for (const Row& row : rows) {
      INFO(row.scalar);
      CHECK(read_one("k: " + row.scalar)["k"] == json::parse(row.expected));
    }
  }

  TEST_CASE("keys become text") {
    CHECK(read_one("y: 1\n010: 2\n1.5: 3\n~x: 4\n\"y\": 5") ==
          json({{"true", 1}, {"8", 2}, {"1.5", 3}, {"~x", 4}, {"y", 5}}));
    CHECK(read_one("? a\n: b\n") == json({{"a", "b"}}));
    CHECK(error_of("~: x") == "1:1: a key must be text, a number or a boolean, not null");
    CHECK(error_of("? [a]\n: b") == "1:3: a list or an object cannot be a key");
  }

  TEST_CASE("aliases and merges are expanded in the order of the text") {
    CHECK(read_one("a: &x [1]\nb: *x") == json({{"a", {1}}, {"b", {1}}}));
    CHECK(read_one("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3") ==
          json({{"a", {{"k", 1}, {"l", 2}}}, {"b", {{"k", 3}, {"l", 2}}}}));
    CHECK(read_one("<<: [{k: 1}, {k: 2, l: 3}]") == json({{"k", 1}, {"l", 3}}));
    CHECK(read_one("'<<': {k: 1}") == json({{"<<", {{"k", 1}}}}));
    CHECK(read_one("&k key: 1\nother: *k") == json({{"key", 1}, {"other", "key"}}));
    CHECK(error_of("<<: 5") == "1:5: map merge requires map or sequence of maps as the value");
    CHECK(error_of("a: *x") == "1:4: unknown anchor 'x' referenced: define it with &x further up");
    CHECK(error_of("a: &x [*x]") == "1:8: anchor 'x' value contains itself");
    CHECK(error_of("a: &x 1\n---\nb: *x") == "3:4: unknown anchor 'x' referenced: define it with &x further up");
  }

  TEST_CASE("a billion laughs end early") {
    std::string text = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
    for (char c = 'b'; c <= 'z'; ++c) {
      const std::string alias = std::string("*") + static_cast<char>(c - 1);
      text += std::string(1, c) + ": &" + c + " [" + alias;
      for (int i = 0; i < 9; ++i) text += ", " + alias;
      text += "]\n";
    }
    CHECK(error_of(text).find("excessive aliasing") != std::string::npos);
    // The bytes of long texts count too, also as keys.
    const std::string long_text = "a: &a " + std::string(1000, 'x') + "\nb: [";
    std::string keys = long_text, values = long_text;
    for (int i = 0; i < 100; ++i) {
      values += "*a, ";
      keys += "{*a : 1}, ";
    }
    CHECK(read_yaml(values + "]").ok());
    CHECK(error_of(values + "]", {500, 50'000}).find("excessive aliasing") != std::string::npos);
    CHECK(error_of(keys + "]", {500, 50'000}).find("excessive aliasing") != std::string::npos);
  }

  TEST_CASE("mistakes are named with their place") {
    struct Row {
      std::string name;
      std::string text;
      std::string expected;
    };
    const Row rows[] = {
        {"a key twice", "a: 1\nb: 2\na: 3", "3:1: duplicate key \"a\": keep one of them"},
        {"a key twice by another spelling", "1: a\n0x1: b", "2:1: duplicate key \"1\""},
        {"a key twice beside a merge", "<<: {a: 1}\nb: 2\nb: 3", "3:1: duplicate key \"b\""},
        {"a key twice in JSON", "{\"a\": 1,\n \"a\": 2}", "2:2: duplicate key \"a\""},
        {"a colon in a text", "a: b: c", "1:5: mapping values are not allowed in this context (check"},
        {"a tab", "a:\n\t- b", "2:1: while scanning for the next token: found character that cannot start any token "},
        {"an open bracket", "a: [1", "2:1: while parsing a flow sequence: did not find expected ',' or ']'"},
        {"an open quote", "a: \"b", "1:6: while scanning a quoted scalar: found unexpected end of stream"},
        {"an indentation that does not fit", "a:\n    b: 1\n  c: 2", "3:3: while parsing a block mapping"},
        {"infinity", "a: .inf", "1:4: `.inf` has no place in JSON: put it in quotes if it is text"},
        {"a type that does not fit", "a: !!int x", "1:4: cannot read `x` as !!int"},
        {"broken base64", "a: !!binary x", "1:4: !!binary value contains invalid base64 data"},
        {"binary data that is no text", "a: !!binary /w==", "1:4: !!binary value is not text"},
        {"bytes that are no UTF-8", "a: b\nc: \xff", "2:4: invalid UTF-8: save the file as UTF-8"},
        {"a control character", "a: b\nc: d\x01", "2:5: control characters are not allowed"},
        {"text behind the end", "[a]\nb", "2:1: did not find expected <document start>"},
        {"too deep a nesting", std::string(501, '['), "1:501: lists and objects are nested more than 500 deep"},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      const std::string error = error_of(row.text);
      CHECK(error.substr(0, row.expected.size()) == row.expected);
    }
  }

  TEST_CASE("several documents know their lines") {
    const auto documents = read_yaml("# comment\na: 1\n---\n\nb: 2\n---\n---\n- c\n...\n");
    REQUIRE(documents.ok());
    REQUIRE(documents->size() == 4);
    CHECK(documents->at(0).line == 2);
    CHECK(documents->at(1).line == 5);
    CHECK(documents->at(1).value == json({{"b", 2}}));
    CHECK(documents->at(2).value.is_null());
    CHECK(documents->at(3).line == 8);
    CHECK(read_yaml("")->empty());
    CHECK(read_yaml("# only a comment\n")->empty());
  }

  TEST_CASE("JSON is read as JSON also when values follow each other") {
    const auto documents = read_yaml("{\"a\": \"}\\\"\"}\n\n[1, \"y\"]\n{}\n");
    REQUIRE(documents.ok());
    REQUIRE(documents->size() == 3);
    CHECK(documents->at(0).value == json({{"a", "}\""}}));
    CHECK(documents->at(1).value == json::array({1, "y"}));
    CHECK(documents->at(1).line == 3);
    CHECK(documents->at(2).line == 4);
    CHECK(read_one("{a: yes,\n b: [1]}") == json({{"a", true}, {"b", {1}}}));
    CHECK(read_yaml("{\"a\": 1}\n---\nb: 1\n")->back().line == 3);
    CHECK(read_yaml(std::string(9'000, '[') + std::string(9'000, ']')).ok());
  }
}

TEST_SUITE("yaml writer") {
  // Recorded from sigs.k8s.io/yaml 1.6.0.
  TEST_CASE("objects are printed as kubectl prints them") {
    struct Row {
      std::string name;
      const char* value;
      std::string expected;
    };
    const Row rows[] = {
        {"lists at the column of their key", R"({"a": [{"b": 1, "c": [[1, 2], []]}, {}, "x"]})",
         "a:\n- b: 1\n  c:\n  - - 1\n    - 2\n  - []\n- {}\n- x\n"},
        {"keys in natural order", R"({"b": 1, "a10": 1, "a2": 1, "A": 1, "1": 1, "a-1": 1, "a01": 1})",
         "\"1\": 1\nA: 1\na-1: 1\na01: 1\na2: 1\na10: 1\nb: 1\n"},
        {"texts that look like something else", R"(["yes", "1", "", "~", "1:30", "2001-01-01", "0x1", "1.5", ".inf"])",
         "- \"yes\"\n- \"1\"\n- \"\"\n- \"~\"\n- \"1:30\"\n- \"2001-01-01\"\n- \"0x1\"\n- \"1.5\"\n- \".inf\"\n"},
        {"a key that would ask for a merge", R"({"<<": 1, "=": 2, "a": "<<"})", "\"<<\": 1\n\"=\": 2\na: \"<<\"\n"},
        {"texts that would break the syntax",
         R"(["a: b", "#c", "- d", "'e'", " f", "g:", "@h", "---", "a #b", "[", "-"])",
         "- 'a: b'\n- '#c'\n- '- d'\n- '''e'''\n- ' f'\n- 'g:'\n- '@h'\n- '---'\n- 'a #b'\n- '['\n- '-'\n"},
        {"texts that need no quotes", R"(["a:b", "-a", "a#b", "é", "1d", "a b", "?x"])",
         "- a:b\n- -a\n- a#b\n- é\n- 1d\n- a b\n- ?x\n"},
        {"characters that are escaped", R"(["a\tb", "\u0001", "\r\n", "\u0085", "\u2028", "😀"])",
         "- \"a\\tb\"\n- \"\\x01\"\n- \"\\r\\n\"\n- \"\\N\"\n- \"\\L\"\n- \"\\U0001F600\"\n"},
        {"texts of several lines",
         R"({"a": "x\ny\n", "b": "x\ny", "c": "x\n\n", "d": " x\ny", "e": "x \ny", "f": "\n"})",
         "a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2-\n   x\n  y\ne: \"x \\ny\"\nf: |2+\n\n"},
        {"numbers", R"([1, -5, 1.5, 1e6, 1e21, 1e-7, 18446744073709551615, true, null])",
         "- 1\n- -5\n- 1.5\n- 1e+06\n- 1e+21\n- 1e-07\n- 18446744073709551615\n- true\n- null\n"},
        {"a scalar alone", R"("a\nb")", "|-\n  a\n  b\n"},
        {"nothing", "{}", "{}\n"},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      CHECK(write_yaml(json::parse(row.value)) == row.expected);
    }
  }

  TEST_CASE("long keys and broken text survive") {
    const json value = {{std::string(2'000, 'k'), {{"a", 1}}}, {std::string(200, '\n'), json::array({1})}};
    CHECK(read_one(write_yaml(value)) == value);
    CHECK(read_one(write_yaml(json("a\xff"))) == "a\xef\xbf\xbd");
    CHECK(write_yaml(json(std::numeric_limits<double>::infinity())) == "null\n");
  }

  TEST_CASE("what is written is read back as the same value") {
    static const std::vector<std::string> kPieces = {
        "a", "1",  " ",    "\n",       "\t",           ":",   ": ", "#",  " #",  "-", "- ", "?", "'", "\"", "\\", "\r",
        "é", "😀",  "yes",  "~",        "0x1",          "{",   "[",  ",",  "&",   "*", "!",  "|", ">", "%",  "@",  "`",
        ".", "e3", "\n\n", "\xc2\x85", "\xe2\x80\xa8", "---", "..", "<<", "null"};
    const auto text = rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces)),
                                   [](const std::vector<std::string>& pieces) {
                                     std::string all;
                                     for (const std::string& piece : pieces) all += piece;
                                     return all;
                                   });
    const auto holds = rc::check("read(write(x)) == x", [&] {
      const auto scalar = [&]() -> json {
        switch (*rc::gen::inRange(0, 6)) {
          case 0:
            return *rc::gen::arbitrary<int64_t>();
          case 1:
            return *rc::gen::arbitrary<double>();
          case 2:
            return *rc::gen::arbitrary<bool>();
          case 3:
            return nullptr;
          default:
            return *text;
        }
      };
      json value = scalar();
      for (int depth = *rc::gen::inRange(0, 5); depth > 0; --depth) {
        json around;
        if (*rc::gen::arbitrary<bool>()) {
          around = json::array({scalar(), value});
        } else {
          around[*text] = scalar();
          around[*text] = value;
        }
        value = std::move(around);
      }
      const auto back = read_yaml(write_yaml(value));
      if (!back.ok()) RC_FAIL(back.error().message + " in " + write_yaml(value));
      RC_ASSERT(back->size() == 1U);
      RC_ASSERT(back->front().value == value);
    });
    CHECK(holds);
  }
}

}  // namespace muster::yaml_test
