#include "test/cases/cel.h"

#include <cctype>
#include <functional>
#include <optional>

namespace muster::test {
namespace {

using nlohmann::json;
using Value = Result<json>;
using Node = std::function<Value(const json& variables)>;

Value truth_of(const Value& value) {
  if (value && !value->is_boolean()) return fail("is neither true nor false: " + value->dump());
  return value;
}

// `decisive` is what one side alone decides: true of ||, false of &&.
Node logical(Node left, Node right, bool decisive) {
  return [left = std::move(left), right = std::move(right), decisive](const json& variables) -> Value {
    const Value first = truth_of(left(variables));
    if (first && *first == decisive) return json(decisive);
    const Value second = truth_of(right(variables));
    if (second && *second == decisive) return json(decisive);
    return first ? second : first;
  };
}

Value field_of(const Value& object, const std::string& name) {
  if (!object) return object;
  if (!object->is_object() || !object->contains(name)) return fail("no such key: " + name);
  return object->at(name);
}

Value contains(const Value& list, const Value& wanted) {
  if (!list) return list;
  if (!wanted) return wanted;
  if (list->is_object()) return json(wanted->is_string() && list->contains(wanted->get<std::string>()));
  if (!list->is_array()) return fail("cannot be searched: " + list->dump());
  return json(std::find(list->begin(), list->end(), *wanted) != list->end());
}

// Over the entries of a list or the keys of a map.
Node exists(Node list, std::string variable, Node predicate) {
  return [=](const json& variables) -> Value {
    const Value over = list(variables);
    if (!over) return over;
    if (!over->is_array() && !over->is_object()) return fail("exists() of " + over->dump());
    std::optional<Value> error;
    for (auto it = over->begin(); it != over->end(); ++it) {
      json scope = variables;
      scope[variable] = over->is_object() ? json(it.key()) : *it;
      const Value held = truth_of(predicate(scope));
      if (held && *held == true) return held;
      if (!held) error = held;
    }
    return error ? *error : Value(json(false));
  };
}

Node text_test(Node text, Node part, bool at_start) {
  return [=](const json& variables) -> Value {
    const Value whole = text(variables), wanted = part(variables);
    if (!whole || !wanted) return !whole ? whole : wanted;
    if (!whole->is_string() || !wanted->is_string()) return fail("no overload for " + whole->dump());
    const auto& held = whole->get_ref<const std::string&>();
    const auto& sought = wanted->get_ref<const std::string&>();
    return json(at_start ? held.starts_with(sought) : held.ends_with(sought));
  };
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Node> parse() {
    Node node = disjunction();
    skip_space();
    if (!error_ && at_ != text_.size()) stop("the end");
    if (error_) return fail(*error_);
    return node;
  }

 private:
  Node disjunction() {
    Node left = conjunction();
    while (take("||")) left = logical(std::move(left), conjunction(), true);
    return left;
  }

  Node conjunction() {
    Node left = relation();
    while (take("&&")) left = logical(std::move(left), relation(), false);
    return left;
  }

  Node relation() {
    Node left = unary();
    for (const bool equal : {true, false}) {
      if (!take(equal ? "==" : "!=")) continue;
      return [left = std::move(left), right = unary(), equal](const json& variables) -> Value {
        const Value first = left(variables), second = right(variables);
        if (!first || !second) return !first ? first : second;
        return json((*first == *second) == equal);
      };
    }
    if (take("in ")) {
      return [left = std::move(left), right = unary()](const json& variables) {
        return contains(right(variables), left(variables));
      };
    }
    return left;
  }

  Node unary() {
    skip_space();
    if (text_.substr(at_).starts_with("!") && !text_.substr(at_).starts_with("!=")) {
      ++at_;
      return [inner = unary()](const json& variables) -> Value {
        const Value value = truth_of(inner(variables));
        return value ? Value(json(!value->get<bool>())) : value;
      };
    }
    return member(primary());
  }

  Node member(Node subject) {
    while (!error_) {
      if (take("[")) {
        Node index = disjunction();
        expect("]");
        subject = [subject, index](const json& variables) -> Value {
          const Value name = index(variables);
          if (!name || !name->is_string()) return name ? fail("no overload for " + name->dump()) : name;
          return field_of(subject(variables), name->get<std::string>());
        };
      } else if (take(".")) {
        subject = selected(std::move(subject), name());
      } else {
        break;
      }
    }
    return subject;
  }

  Node selected(Node subject, const std::string& field) {
    if (field == "exists" && take("(")) {
      const std::string variable = name();
      expect(",");
      Node predicate = disjunction();
      expect(")");
      return exists(std::move(subject), variable, std::move(predicate));
    }
    for (const bool at_start : {true, false}) {
      if (field != (at_start ? "startsWith" : "endsWith") || !take("(")) continue;
      Node part = disjunction();
      expect(")");
      return text_test(std::move(subject), std::move(part), at_start);
    }
    last_subject_ = subject;
    last_field_ = field;
    return [subject = std::move(subject), field](const json& variables) { return field_of(subject(variables), field); };
  }

  Node primary() {
    skip_space();
    if (take("(")) {
      Node inner = disjunction();
      expect(")");
      return inner;
    }
    if (take("[")) return list();
    if (take("'")) return string();
    const std::string word = name();
    if (std::isdigit(static_cast<unsigned char>(word.empty() ? ' ' : word[0])))
      return [number = json::parse(word, nullptr, false)](const json&) -> Value {
        if (number.is_discarded()) return fail("is no number");
        return number;
      };
    if (word == "null") return [](const json&) { return Value(json()); };
    if (word == "true" || word == "false") return [on = word == "true"](const json&) { return Value(json(on)); };
    if (word == "has" && take("(")) return presence();
    return [word](const json& variables) { return field_of(variables, word); };
  }

  // has(a.b.c): an error where a.b is not there.
  Node presence() {
    last_subject_ = nullptr;
    member(primary());
    expect(")");
    if (!last_subject_) stop("a field");
    return [subject = last_subject_, field = last_field_](const json& variables) -> Value {
      const Value object = subject(variables);
      if (!object) return object;
      return json(object->is_object() && object->contains(field));
    };
  }

  Node list() {
    std::vector<Node> entries;
    while (!error_ && !take("]")) {
      entries.push_back(disjunction());
      take(",");
    }
    return [entries](const json& variables) -> Value {
      json values = json::array();
      for (const Node& entry : entries) {
        const Value value = entry(variables);
        if (!value) return value;
        values.push_back(*value);
      }
      return values;
    };
  }

  Node string() {
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) stop("'");
    const std::string text(text_.substr(at_, error_ ? 0 : end - at_));
    at_ = error_ ? at_ : end + 1;
    return [text](const json&) { return Value(json(text)); };
  }

  std::string name() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (at_ == begin) stop("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip_space();
    if (error_ || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) stop(std::string(token));
  }

  void stop(const std::string& wanted) {
    if (!error_)
      error_ = "expected " + wanted + " at \"" + std::string(text_.substr(std::min(at_, text_.size()))) + "\"";
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::optional<std::string> error_;
  // What the last selection of a field took it from, for has().
  Node last_subject_;
  std::string last_field_;
};

}  // namespace

Result<bool> evaluate_cel(std::string_view expression, const json& variables) {
  const auto node = Parser(expression).parse();
  if (!node) return fail(node.error().message);
  const Value value = truth_of((*node)(variables));
  if (!value) return fail(value.error().message);
  return value->get<bool>();
}

}  // namespace muster::test
