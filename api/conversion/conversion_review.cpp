#include "api/conversion/conversion_review.h"

#include <algorithm>
#include <optional>

#include "api/codec/json.h"
#include "api/codec/tree_memory.h"
#include "api/conversion/conversion.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kApiVersion = "apiextensions.k8s.io/v1";
constexpr std::string_view kKind = "ConversionReview";

Failure<ReviewError> bad_request(std::string message) {
  return fail_with(ReviewError{400, "the body is not a ConversionReview: " + std::move(message)});
}

// Walks over JSON text without parsing it: finds the ends of values, and lets parse_json check whether they are
// valid. So all skipped text must be parsed later.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  size_t position() const { return at_; }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  // The next value; empty at the end of the text or of the value around it.
  std::string_view value() {
    skip_space();
    const size_t begin = at_;
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == ':' || c == ']' || c == '}')) break;
      if (c == '"')
        skip_string();
      else
        ++at_;
      if (c == '{' || c == '[') ++depth;
      if (depth == 0) {
        if (c == '"') break;
        continue;
      }
      if ((c == '}' || c == ']') && --depth == 0) break;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  void skip_string() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return;
      }
    }
    at_ = text_.size();
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The start of a key's value in `object`, which is the text of an object; keys that are written with escapes
// are not found.
std::optional<size_t> find_value(std::string_view object, std::string_view key) {
  Cursor cursor(object);
  if (!cursor.take('{')) return std::nullopt;
  const std::string quoted = "\"" + std::string(key) + "\"";
  do {
    const std::string_view name = cursor.value();
    if (name.empty() || !cursor.take(':')) return std::nullopt;
    if (name == quoted) return cursor.position();
    cursor.value();
  } while (cursor.take(','));
  return std::nullopt;
}

struct Envelope {
  json review;               // with an empty list of objects
  std::string_view objects;  // the text of the list, behind its bracket
  size_t count = 0;          // of them
};

// Cuts the objects out of the review. These objects are parsed later, and all other text is parsed here, so
// that no text stays unread.
Result<Envelope, ReviewError> open_envelope(std::string_view body, size_t tree_bytes) {
  Envelope envelope;
  std::string rest;
  const auto request = find_value(body, "request");
  const auto list = request ? find_value(body.substr(*request), "objects") : std::nullopt;
  Cursor cursor(list ? body.substr(*request + *list) : "");
  if (cursor.take('[')) {
    const size_t begin = *request + *list + cursor.position();
    do {
      if (cursor.value().empty()) break;
      ++envelope.count;
    } while (cursor.take(','));
    const size_t end = *request + *list + cursor.position();
    // After a comma another object must follow: the remainder of "[{}, ]" is not valid JSON.
    envelope.objects = body.substr(begin, end - begin);
    const size_t last = envelope.objects.find_last_not_of(" \t\r\n");
    const bool dangling = last != std::string_view::npos && envelope.objects[last] == ',';
    rest.append(body.substr(0, begin)).append(dangling ? "," : "").append(body.substr(end));
  }
  auto parsed = parse_json_within(rest.empty() ? body : std::string_view(rest), tree_bytes);
  if (!parsed) return bad_request(parsed.error().message);
  envelope.review = std::move(*parsed);
  return envelope;
}

// "Workload team-a/train"; the parts of it that exist.
std::string name_of(const json& object) {
  const std::string_view ns = string_at(object, {"metadata", "namespace"});
  std::string name(string_at(object, {"kind"}));
  if (!name.empty()) name += " ";
  if (!ns.empty()) name.append(ns).append("/");
  return name.append(string_at(object, {"metadata", "name"}));
}

class Conversion {
 public:
  // Appends to `out`, which already holds the answer's beginning.
  Conversion(QueueVersion to, ConversionLimits limits, std::string& out)
      : to_(to), limits_(limits), out_(out), begin_(out.size()) {}

  // Appends the converted object's text.
  Outcome<> convert(std::string_view text, size_t index) {
    auto object = parse_json_within(text, limits_.tree_bytes);
    const std::string place = "request.objects[" + std::to_string(index) + "]";
    if (!object) return fail(place + " cannot be read: " + object.error().message);
    if (index == 0) first_kind_ = string_at(*object, {"kind"});
    const size_t used = out_.size() - begin_;
    const ConversionBudget budget{limits_.tree_bytes, limits_.text_bytes - std::min(used, limits_.text_bytes)};
    if (auto converted = convert_object(*object, to_, budget); !converted) {
      return fail(name_of(*object) + " (" + place + ") cannot be converted: " + converted.error().message);
    }
    const std::string made = to_text(*object);
    if (made.size() > budget.text_bytes) {
      return fail(name_of(*object) + " (" + place +
                  ") cannot be converted: the answer to this review would be larger " + "than the " +
                  std::to_string(limits_.text_bytes) + " bytes that it may have");
    }
    out_ += made;
    return Done{};
  }
  const std::string& first_kind() const { return first_kind_; }

 private:
  const QueueVersion to_;
  const ConversionLimits limits_;
  std::string& out_;
  const size_t begin_;
  std::string first_kind_;
};

// Up to the list of converted objects.
std::string begin_answer(std::string_view uid, const std::string& problem) {
  json result = {{"status", problem.empty() ? "Success" : "Failure"}};
  if (!problem.empty()) result["message"] = problem;
  std::string body = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":)";
  return body.append(to_text(json(uid)))
      .append(R"(,"result":)")
      .append(to_text(result))
      .append(R"(,"convertedObjects":[)");
}

// The first problem; empty when there is none.
std::string convert_all(const Envelope& envelope, Conversion& conversion, std::string& out) {
  Cursor cursor(envelope.objects);
  for (size_t i = 0; i < envelope.count; ++i, cursor.take(',')) {
    if (i > 0) out += ",";
    if (auto done = conversion.convert(cursor.value(), i); !done) return done.error().message;
  }
  return "";
}

}  // namespace

Result<ConversionAnswer, ReviewError> answer_conversion_review(std::string_view body, ConversionLimits limits) {
  auto envelope = open_envelope(body, limits.tree_bytes);
  if (!envelope) return fail_with(envelope.error());
  const json& review = envelope->review;
  if (string_at(review, {"kind"}) != kKind || string_at(review, {"apiVersion"}) != kApiVersion) {
    return bad_request("apiVersion and kind must be \"" + std::string(kApiVersion) + "\" and \"" + std::string(kKind) +
                       "\"");
  }
  const std::string_view uid = string_at(review, {"request", "uid"});
  if (uid.empty()) return bad_request("request.uid is missing or empty; it must be a string");
  const json* objects = find_path(review, {"request", "objects"});
  if (objects != nullptr && !objects->is_null() && (!objects->is_array() || !objects->empty())) {
    return bad_request("request.objects must be a list, and its key spelled without escapes");
  }

  ConversionAnswer answer;
  answer.objects = envelope->count;
  const auto to = parse_queue_version(string_at(review, {"request", "desiredAPIVersion"}));
  if (to) {
    answer.body = begin_answer(uid, "");
    answer.body.reserve(std::min(body.size() + body.size() / 8, limits.text_bytes));
    Conversion conversion(*to, limits, answer.body);
    answer.problem = convert_all(*envelope, conversion, answer.body);
    answer.kind = conversion.first_kind();
  } else {
    answer.problem = "request.desiredAPIVersion: " + to.error().message;
  }
  if (!answer.problem.empty()) answer.body = begin_answer(uid, answer.problem);
  answer.body += "]}}";
  return answer;
}

}  // namespace muster
