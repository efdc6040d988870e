#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/utf8.h"
#include "api/codec/yaml.h"
#include "api/codec/yaml_scalar.h"
#include "base/ascii.h"

namespace muster {
namespace {

using nlohmann::json;

// Longer keys are written as "? key": a parser does not search further for the colon of a plain key.
constexpr size_t kMaxSimpleKey = 128;
constexpr char32_t kReplacement = 0xfffd;

// Everything beyond ASCII counts as a letter.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// Compares the numbers that end at the first difference of two keys: a2 before a10.
bool number_before(std::string_view a, std::string_view b, size_t at) {
  const auto run_end = [at](std::string_view text) {
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end;
  };
  const size_t a_end = run_end(a), b_end = run_end(b);
  const bool leads_with_zero = a[at] == '0' || b[at] == '0';
  bool inside_number = false;
  for (size_t i = at; leads_with_zero && i > 0 && is_digit(a[i - 1]); --i) inside_number |= a[i - 1] != '0';
  const auto value = [inside_number, at](std::string_view text, size_t end) {
    std::string digits = (inside_number ? "1" : "") + std::string(text.substr(at, end - at));
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
  };
  const std::string a_value = value(a, a_end), b_value = value(b, b_end);
  if (a_value.size() != b_value.size()) return a_value.size() < b_value.size();
  if (a_value != b_value) return a_value < b_value;
  if (a_end != b_end) return a_end < b_end;
  return static_cast<unsigned char>(a[at]) < static_cast<unsigned char>(b[at]);
}

bool key_before(std::string_view a, std::string_view b) {
  const auto [a_it, b_it] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (a_it == a.end() || b_it == b.end()) return a.size() < b.size();
  const bool a_letter = is_letter(*a_it), b_letter = is_letter(*b_it);
  if (a_letter && b_letter) return static_cast<unsigned char>(*a_it) < static_cast<unsigned char>(*b_it);
  if (a_letter || b_letter) return b_letter;
  return number_before(a, b, static_cast<size_t>(a_it - a.begin()));
}

// The characters that go-yaml prints without escapes: line feeds, ASCII from the blank on, and the lower
// planes.
bool is_printable_in_yaml(char32_t c) {
  return c == '\n' || (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c < 0xfffe && c != 0xfeff && c != 0x2028 && c != 0x2029);
}

// Which ways of writing a text would keep it.
struct TextForms {
  bool plain = true, single_quoted = true, literal = true;
};

void check_characters(std::string_view text, TextForms& forms) {
  char32_t previous = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character c = read_utf8(rest);
    const bool space_then_break = previous == ' ' && c.code_point == '\n';
    if (!c.valid || !is_printable_in_yaml(c.code_point) || space_then_break) forms = {false, false, false};
    if (previous == '\n' && c.code_point == ' ') forms.plain = forms.single_quoted = false;
    previous = c.code_point;
    rest.remove_prefix(c.length);
  }
}

TextForms forms_of(std::string_view text) {
  TextForms forms;
  if (text.empty()) return {true, true, false};
  check_characters(text, forms);
  if (text.back() == ' ') forms.literal = false;
  if (text.front() == ' ' || text.back() == ' ' || text.find('\n') != text.npos) forms.plain = false;
  if (text.starts_with("---") || text.starts_with("...")) forms.plain = false;
  const bool blank_follows = text.size() == 1 || text[1] == ' ' || text[1] == '\t' || text[1] == '\n';
  if (std::string_view("#,[]{}&*!|>'\"%@`").find(text.front()) != std::string_view::npos) forms.plain = false;
  if (blank_follows && std::string_view("?:-").find(text.front()) != std::string_view::npos) forms.plain = false;
  if (text.back() == ':' || text.find(": ") != text.npos || text.find(" #") != text.npos) forms.plain = false;
  return forms;
}

void append_escape(std::string& out, char32_t c) {
  constexpr std::string_view kNamed("\0\a\b\t\n\v\f\r\x1b", 9), kLetters = "0abtnvfre";
  out += '\\';
  if (c == '"' || c == '\\') {
    out += static_cast<char>(c);
  } else if (const size_t i = c < 0x20 ? kNamed.find(static_cast<char>(c)) : kNamed.npos; i != kNamed.npos) {
    out += kLetters[i];
  } else if (c == 0x85 || c == 0x2028 || c == 0x2029) {
    out += c == 0x85 ? 'N' : c == 0x2028 ? 'L' : 'P';
  } else {
    const int digits = c <= 0xff ? 2 : c <= 0xffff ? 4 : 8;
    out += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789ABCDEF"[(c >> shift) & 0xf];
  }
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character c = read_utf8(text);
    if (!c.valid) {
      append_utf8(out, kReplacement);
    } else if (!is_printable_in_yaml(c.code_point) || c.code_point == '\n' || c.code_point == '"' ||
               c.code_point == '\\') {
      append_escape(out, c.code_point);
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out + '"';
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + '\'';
}

std::string one_line(std::string_view text) {
  const TextForms forms = forms_of(text);
  if (text.find('\n') != text.npos || needs_yaml_quotes(text)) return double_quoted(text);
  if (forms.plain) return std::string(text);
  return forms.single_quoted ? single_quoted(text) : double_quoted(text);
}

class Writer {
 public:
  // `indent` is the column of the entries around the value.
  void write_value(const json& value, size_t indent) {
    if (value.is_object() && !value.empty()) return write_object(value, indent, false);
    if (value.is_array() && !value.empty()) return write_array(value, indent, false);
    write_scalar(value, indent);
  }
  std::string take() { return std::move(out_); }

 private:
  void write_object(const json& object, size_t indent, bool starts_inside_line) {
    std::vector<const json::object_t::value_type*> entries;
    for (const auto& entry : object.get_ref<const json::object_t&>()) entries.push_back(&entry);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto* a, const auto* b) { return key_before(a->first, b->first); });
    for (const auto* entry : entries) {
      if (!starts_inside_line) out_.append(indent, ' ');
      starts_inside_line = false;
      const std::string key = one_line(entry->first);
      if (key.size() > kMaxSimpleKey) {
        out_ += "? " + key + "\n";
        out_.append(indent, ' ');
        out_ += ':';
        write_inside_line(entry->second, indent);
      } else {
        out_ += key + ':';
        write_below_key(entry->second, indent);
      }
    }
  }

  void write_array(const json& array, size_t indent, bool starts_inside_line) {
    for (const json& item : array) {
      if (!starts_inside_line) out_.append(indent, ' ');
      starts_inside_line = false;
      out_ += '-';
      write_inside_line(item, indent);
    }
  }

  // The value of a key: objects two columns further, lists in the column of the key.
  void write_below_key(const json& value, size_t indent) {
    const bool nested = value.is_structured() && !value.empty();
    out_ += nested ? '\n' : ' ';
    write_value(value, value.is_object() && nested ? indent + 2 : indent);
  }

  // Behind "-" or ":", where the first entry of an object or list follows in the same line.
  void write_inside_line(const json& value, size_t indent) {
    out_ += ' ';
    if (value.is_object() && !value.empty()) return write_object(value, indent + 2, true);
    if (value.is_array() && !value.empty()) return write_array(value, indent + 2, true);
    write_scalar(value, indent);
  }

  void write_scalar(const json& value, size_t indent) {
    if (const auto* text = value.get_ptr<const std::string*>()) {
      if (text->find('\n') != std::string::npos && forms_of(*text).literal) return write_literal(*text, indent + 2);
      out_ += one_line(*text);
    } else if (value.is_number_float()) {
      const double number = value.get<double>() + 0.0;  // no minus before zero
      out_ += std::isfinite(number) ? yaml_float_text(number) : "null";
    } else if (value.is_structured()) {
      out_ += value.is_object() ? "{}" : "[]";
    } else {
      out_ += value.dump();
    }
    out_ += '\n';
  }

  void write_literal(std::string_view text, size_t indent) {
    out_ += '|';
    if (text.front() == ' ' || text.front() == '\n') out_ += '2';
    if (text.back() != '\n') {
      out_ += '-';
    } else if (text.size() == 1 || text[text.size() - 2] == '\n') {
      out_ += '+';
    }
    out_ += '\n';
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (end != 0) out_.append(indent, ' ').append(text.substr(0, end));
      out_ += '\n';
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
  }

  std::string out_;
};

}  // namespace

std::string write_yaml(const json& value) {
  Writer writer;
  writer.write_value(value, 0);
  return writer.take();
}

}  // namespace muster
