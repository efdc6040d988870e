#include "api/meta/quantity.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "test/support/vectors.h"

namespace muster::quantity_test {
namespace {

using nlohmann::json;

// As Go prints a float with the fewest digits: with an exponent below 1e-4 and from 1e6 on.
std::string go_float(double value) {
  char buffer[400];
  const bool scientific = value != 0 && (std::abs(value) < 1e-4 || std::abs(value) >= 1e6);
  const auto form = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, form).ptr);
}

void check_amount(const Quantity& q, const json& output) {
  CHECK(q.text() == output["canonical"].get<std::string>());
  CHECK(q.to_json().dump() == output["json"].get<std::string>());
  CHECK(std::to_string(q.value()) == output["value"].get<std::string>());
  CHECK(std::to_string(q.milli_value()) == output["milliValue"].get<std::string>());
  CHECK(q.sign() == output["sign"].get<int>());
  CHECK(q.is_zero() == output["isZero"].get<bool>());
  CHECK(to_text(q.format()) == output["format"].get<std::string>());
  CHECK(go_float(q.approximate()) == output["approxFloat"].get<std::string>());
}

void check_parsed(const Result<Quantity>& q, const json& output) {
  REQUIRE(q.ok() == output["valid"].get<bool>());
  if (q.ok()) {
    check_amount(*q, output);
  } else {
    CHECK(q.error().message == output["error"].get<std::string>());
  }
}

Quantity quantity(std::string_view text) {
  INFO(std::string(text));
  auto q = Quantity::parse(text);
  REQUIRE(q.ok());
  return *q;
}

// Numbers as they are written, because a parser of JSON makes 1000000.0 of 1E6.
Result<Quantity> from_json_text(const std::string& raw) {
  const bool as_written = raw.find_first_not_of("+-.0123456789eE") == std::string::npos;
  return as_written ? Quantity::parse(raw) : Quantity::from_json(json::parse(raw));
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("quantities count and print as the originals were recorded") {
    const auto lines = test::load_vectors("quantity");
    for (const json& line : lines) {
      INFO(line.dump());
      const json &input = line["input"], &output = line["output"];
      const std::string op = input["op"];
      if (op == "parse") {
        check_parsed(Quantity::parse(input["text"].get<std::string>()), output);
      } else if (op == "json") {
        check_parsed(from_json_text(input["text"].get<std::string>()), output);
      } else {
        Quantity a = quantity(input["a"].get<std::string>());
        const Quantity b = quantity(input["b"].get<std::string>());
        if (op == "cmp") {
          CHECK(a.compare(b) == output["cmp"].get<int>());
          CHECK((a == b) == output["equal"].get<bool>());
          continue;
        }
        REQUIRE((op == "add" || op == "sub"));
        if (op == "add") {
          a += b;
        } else {
          a -= b;
        }
        check_amount(a, output);
      }
    }
  }
}

TEST_SUITE("quantity") {
  TEST_CASE("counting saturates where Kubernetes wraps") {
    struct Row {
      std::string name;
      const char* text;
      int64_t value, milli;
    };
    const Row rows[] = {
        {"a small amount", "1500m", 2, 1500},
        {"a negative amount is rounded away from zero", "-1500m", -2, -1500},
        {"a fraction of a thousandth", "1n", 1, 1},
        {"an exa wraps to zero in thousandths", "1E", 1'000'000'000'000'000'000, INT64_MAX},
        {"a hundred exa", "100E", INT64_MAX, INT64_MAX},
        {"digits beyond 64 bits", "100000000000000000000", INT64_MAX, INT64_MAX},
        {"negative digits beyond 64 bits", "-100000000000000000000", INT64_MIN, INT64_MIN},
        {"the largest integer", "9223372036854775807", INT64_MAX, INT64_MAX},
        {"the smallest integer", "-9223372036854775808", INT64_MIN, INT64_MIN},
        {"just above the largest", "9223372036854775807.5", INT64_MAX, INT64_MAX},
        {"a huge exponent", "1e999999999", INT64_MAX, INT64_MAX},
        {"the binary limit", "8Ei", INT64_MAX, INT64_MAX},
        {"many digits and a fraction", "1234567890123456.789", 1'234'567'890'123'457, 1'234'567'890'123'456'789},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      const Quantity q = quantity(row.text);
      CHECK(q.saturating_value() == row.value);
      CHECK(q.saturating_milli_value() == row.milli);
    }
  }

  TEST_CASE("a huge exponent costs no memory") {
    Quantity huge = quantity("1e1999999998");
    CHECK(huge.text() == "1e1999999998");
    CHECK(huge > quantity("1234567890123456789012345678901234567890"));
    CHECK(quantity("-1e2000000000") < quantity("-1"));
    huge += quantity("1");
    CHECK(huge.saturating_value() == INT64_MAX);
    CHECK(huge.value() == 0);
    Quantity binary = quantity("1Ki");
    binary += quantity("1e2000000000");
    CHECK(binary.text() == "100e1999999998");
    CHECK(quantity("1e-2000000000").text() == "1e-9");
  }

  TEST_CASE("JSON numbers, strings and null are quantities and nothing else is") {
    CHECK(Quantity::from_json(json(2))->text() == "2");
    CHECK(Quantity::from_json(json(0.5))->text() == "500m");
    CHECK(Quantity::from_json(json(" 1Gi "))->text() == "1Gi");
    CHECK(Quantity::from_json(json())->is_zero());
    CHECK_FALSE(Quantity::from_json(json(true)).ok());
    CHECK_FALSE(Quantity::from_json(json::array({1})).ok());
    CHECK_FALSE(Quantity::parse("").ok());
    CHECK(Quantity::from_json(json("\xc2\xa0\t1"))->value() == 1);
  }

  TEST_CASE("amounts are made from numbers in the format that is asked for") {
    CHECK(Quantity::of(2048, Quantity::Format::kBinarySI).text() == "2Ki");
    CHECK(Quantity::of(2000).text() == "2k");
    CHECK(Quantity::of_milli(1500).text() == "1500m");
    CHECK(Quantity::of(INT64_MIN).value() == INT64_MIN);
    CHECK(Quantity().text() == "0");
  }

  TEST_CASE("adding and taking away again gives the same amount") {
    const auto holds = rc::check("a + b - b == a", [](int64_t a, int64_t b, uint8_t a_exponent, uint8_t b_exponent) {
      const auto make = [](int64_t value, uint8_t exponent) {
        return *Quantity::parse(std::to_string(value) + "e" + std::to_string(exponent % 40 - 9));
      };
      const Quantity first = make(a, a_exponent), second = make(b, b_exponent);
      Quantity sum = first;
      sum += second;
      RC_ASSERT(sum.compare(first) == second.sign());
      sum -= second;
      RC_ASSERT(sum == first);
    });
    CHECK(holds);
  }

  TEST_CASE("what is printed is read back as the same amount") {
    const auto holds = rc::check("parse(text(q)) == q", [](int64_t value, uint8_t exponent) {
      const std::string suffixes[] = {"", "n", "u", "m", "k", "M", "e3", "e-5", "Ki", "Mi", "Gi", "Ti"};
      const Quantity q = *Quantity::parse(std::to_string(value / 1000) + suffixes[exponent % std::size(suffixes)]);
      const auto back = Quantity::parse(q.text());
      RC_ASSERT(back.ok());
      RC_ASSERT(*back == q);
      RC_ASSERT(back->text() == q.text());
      RC_ASSERT(back->saturating_milli_value() == q.saturating_milli_value());
    });
    CHECK(holds);
  }
}

}  // namespace muster::quantity_test
