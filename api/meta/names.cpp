#include "api/meta/names.h"

#include <algorithm>

#include "api/codec/go_strconv.h"
#include "base/ascii.h"

namespace muster {
namespace {

using Messages = std::vector<std::string>;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_lower_alnum(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_alnum(char c) {
  return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

constexpr std::string_view kDns1123Label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kDns1123Subdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kDns1035Label = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kLabelKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kLabelValue = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
constexpr std::string_view kHttpPath = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
constexpr std::string_view kLabelKeyRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

// The double blank in "'a',  or 'b'" is Kubernetes'.
std::string regex_message(std::string text, std::string_view regex, std::initializer_list<std::string_view> examples) {
  text += " (";
  if (examples.size() > 0) text += "e.g. ";
  bool first = true;
  for (std::string_view example : examples) {
    if (!first) text += " or ";
    first = false;
    text.append("'").append(example).append("', ");
  }
  return text.append("regex used for validation is '").append(regex).append("')");
}

std::string length_message(size_t max, std::string_view unit) {
  return "must be no more than " + std::to_string(max) + " " + std::string(unit);
}

bool matches_dns_label(std::string_view value) {
  return !value.empty() && is_lower_alnum(value.front()) && is_lower_alnum(value.back()) &&
         std::all_of(value.begin(), value.end(), [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool matches_dns_subdomain(std::string_view value) {
  for (;;) {
    const size_t dot = value.find('.');
    if (!matches_dns_label(value.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    value.remove_prefix(dot + 1);
  }
}

bool matches_label_name(std::string_view value) {
  return !value.empty() && is_alnum(value.front()) && is_alnum(value.back()) &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

// The unit differs: label keys count "bytes" where object names count "characters".
Messages check_subdomain(std::string_view value, std::string_view unit) {
  Messages messages;
  if (value.size() > 253) messages.push_back(length_message(253, unit));
  if (!matches_dns_subdomain(value)) {
    messages.push_back(
        regex_message("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
                      "'-' or '.', and must start and end with an alphanumeric character",
                      kDns1123Subdomain, {"example.com"}));
  }
  return messages;
}

}  // namespace

Messages is_dns1123_subdomain(std::string_view value) {
  return check_subdomain(value, "characters");
}

Messages is_dns1123_label(std::string_view value) {
  Messages messages;
  if (value.size() > 63) messages.push_back(length_message(63, "characters"));
  if (matches_dns_label(value)) return messages;
  if (matches_dns_subdomain(value)) {
    messages.push_back("must not contain dots");
  } else {
    messages.push_back(
        regex_message("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
                      "'-', and must start and end with an alphanumeric character",
                      kDns1123Label, {"my-name", "123-abc"}));
  }
  return messages;
}

Messages is_dns1035_label(std::string_view value) {
  Messages messages;
  if (value.size() > 63) messages.push_back(length_message(63, "characters"));
  if (!matches_dns_label(value) || !is_lower(value.front())) {
    messages.push_back(
        regex_message("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
                      "with an alphabetic character, and end with an alphanumeric character",
                      kDns1035Label, {"my-name", "abc-123"}));
  }
  return messages;
}

Messages is_qualified_name(std::string_view value) {
  const std::string rule = regex_message(std::string(kLabelKeyRule), kLabelKey, {"MyName", "my.name", "123-abc"});
  if (std::count(value.begin(), value.end(), '/') > 1) {
    return {"a valid label key " + rule + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  Messages messages;
  std::string_view name = value;
  if (const size_t slash = value.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (prefix.empty())
      messages.push_back("prefix part must be non-empty");
    else
      for (const std::string& message : check_subdomain(prefix, "bytes")) messages.push_back("prefix part " + message);
  }
  if (name.empty()) messages.push_back("name part must be non-empty");
  if (name.size() > 63) messages.push_back("name part " + length_message(63, "bytes"));
  if (!matches_label_name(name)) messages.push_back("name part " + rule);
  return messages;
}

Messages is_valid_label_value(std::string_view value) {
  Messages messages;
  if (value.size() > 63) messages.push_back(length_message(63, "bytes"));
  if (!value.empty() && !matches_label_name(value)) {
    messages.push_back(
        regex_message("a valid label must be an empty string or consist of alphanumeric characters, '-', "
                      "'_' or '.', and must start and end with an alphanumeric character",
                      kLabelValue, {"MyValue", "my_value", "12345"}));
  }
  return messages;
}

FieldErrors is_domain_prefixed_path(const std::string& field, std::string_view value) {
  const auto wrong = [&field](std::string_view part, std::string message) {
    return FieldError{field, FieldErrorType::kInvalid, go_quote(part), std::move(message)};
  };
  if (value.empty()) return {required(field, "")};
  const size_t slash = value.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == value.size()) {
    return {wrong(value, "must be a domain-prefixed path (such as \"acme.io/foo\")")};
  }
  FieldErrors errors;
  const std::string_view host = value.substr(0, slash), path = value.substr(slash + 1);
  for (std::string& message : is_dns1123_subdomain(host)) errors.push_back(wrong(host, std::move(message)));
  const bool legal = std::all_of(path.begin(), path.end(), [](char c) {
    return is_alnum(c) || std::string_view("/-._~%!$&'()*+,;=:").find(c) != std::string_view::npos;
  });
  if (!legal) errors.push_back(wrong(path, regex_message("Invalid path", kHttpPath, {})));
  return errors;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

}  // namespace muster
