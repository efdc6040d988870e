#include "api/meta/selector_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace muster {
namespace {

using nlohmann::json;
using Operator = LabelRequirement::Operator;

constexpr std::string_view kSigns = "=!<>(),";

// Words and signs; at the end empty tokens.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) { next(); }

  std::string_view word() const { return word_; }
  bool is_word() const { return !word_.empty() && kSigns.find(word_.front()) == std::string_view::npos; }
  std::string_view take() { return std::exchange(word_, next_token()); }
  bool take_if(std::string_view sign) {
    if (word_ != sign) return false;
    next();
    return true;
  }

 private:
  void next() { word_ = next_token(); }
  std::string_view next_token() {
    const size_t start = rest_.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return rest_ = {};
    rest_.remove_prefix(start);
    size_t length = rest_.find_first_of(" \t\r\n=!<>(),");
    if (length == std::string_view::npos) length = rest_.size();
    if (length == 0) length = rest_.starts_with("==") || rest_.starts_with("!=") ? 2 : 1;
    const std::string_view token = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return token;
  }

  std::string_view rest_, word_;
};

Error unexpected(const Tokens& tokens, std::string_view wanted) {
  const std::string found =
      tokens.word().empty() ? "the text ends" : "there is \"" + std::string(tokens.word().substr(0, 100)) + "\"";
  return {found + " where " + std::string(wanted) + " must be"};
}

// A value can be empty: "a=", "a in (,b)".
std::string value_of_label(Tokens& tokens) {
  return tokens.is_word() ? std::string(tokens.take()) : std::string();
}

Result<json> values_in_parentheses(Tokens& tokens) {
  if (!tokens.take_if("(")) return fail_with(unexpected(tokens, "an opening parenthesis"));
  json values = json::array({value_of_label(tokens)});
  while (tokens.take_if(",")) values.push_back(value_of_label(tokens));
  if (!tokens.take_if(")")) return fail_with(unexpected(tokens, "a comma or a closing parenthesis"));
  return values;
}

struct Parsed {
  std::string key;
  Operator op;
  json values = json::array();
};

Result<Parsed> parse_one(Tokens& tokens) {
  const bool absent = tokens.take_if("!");
  if (!tokens.is_word()) return fail_with(unexpected(tokens, "the name of a label"));
  std::string key(tokens.take());
  if (absent) return Parsed{std::move(key), Operator::kDoesNotExist};
  const std::string_view op = tokens.word();
  if (op.empty() || op == ",") return Parsed{std::move(key), Operator::kExists};
  if (op == "in" || op == "notin") {
    tokens.take();
    auto values = values_in_parentheses(tokens);
    if (!values) return fail_with(values.error());
    return Parsed{std::move(key), op == "in" ? Operator::kIn : Operator::kNotIn, std::move(*values)};
  }
  const auto with_value = [&](Operator kind) {
    tokens.take();
    return Parsed{std::move(key), kind, json::array({value_of_label(tokens)})};
  };
  if (op == "=" || op == "==") return with_value(Operator::kEquals);
  if (op == "!=") return with_value(Operator::kNotIn);
  if (op == ">") return with_value(Operator::kGreaterThan);
  if (op == "<") return with_value(Operator::kLessThan);
  return fail_with(unexpected(tokens, "one of =, ==, !=, in, notin, < and >"));
}

}  // namespace

Result<std::vector<LabelRequirement>> parse_selector_text(std::string_view text) {
  if (text.size() > kLongestSelectorText)
    return fail("a label selector has at most " + std::to_string(kLongestSelectorText) + " characters");
  std::vector<LabelRequirement> requirements;
  Tokens tokens(text);
  while (!tokens.word().empty()) {
    auto parsed = parse_one(tokens);
    if (!parsed) return fail_with(parsed.error());
    auto requirement = make_requirement(std::move(parsed->key), parsed->op, parsed->values, "");
    if (!requirement) return fail(aggregate_text(requirement.error()));
    requirements.push_back(std::move(*requirement));
    if (tokens.word().empty()) break;
    if (!tokens.take_if(",")) return fail_with(unexpected(tokens, "a comma"));
    if (tokens.word().empty()) return fail_with(unexpected(tokens, "the name of a label"));
  }
  return requirements;
}

bool matches_all(const std::vector<LabelRequirement>& requirements, const Labels& labels) {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const LabelRequirement& requirement) { return requirement.matches(labels); });
}

}  // namespace muster
