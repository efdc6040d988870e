#include "api/conversion_review.h"

#include <optional>
#include <vector>

#include "api/conversion.h"
#include "api/json.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kApiVersion = "apiextensions.k8s.io/v1";
constexpr std::string_view kKind = "ConversionReview";

Failure<ReviewError> bad_request(std::string message) {
  return fail_with(ReviewError{400, "the body is not a ConversionReview: " + std::move(message)});
}

// Walks over JSON text without reading it: finds where values end, and leaves it to
// parse_json to say whether they are any. So whatever it passes over must be parsed.
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

// Where in `object`, the text of one, the value of a key begins; keys spelled with
// escapes are not found.
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
  json review;                            // with an empty list of objects
  std::vector<std::string_view> objects;  // their text
};

// Cuts the objects out of the review. Everything that is cut is parsed later, and
// everything else here, so that nothing goes through unread.
Result<Envelope, ReviewError> open_envelope(std::string_view body) {
  Envelope envelope;
  std::string rest(body);
  const auto request = find_value(body, "request");
  const auto list = request ? find_value(body.substr(*request), "objects") : std::nullopt;
  Cursor cursor(list ? body.substr(*request + *list) : "");
  if (cursor.take('[')) {
    const size_t begin = *request + *list + cursor.position();
    do {
      const std::string_view object = cursor.value();
      if (object.empty()) break;
      envelope.objects.push_back(object);
    } while (cursor.take(','));
    const size_t end = *request + *list + cursor.position();
    // After a comma there must be another object: what is left of "[{}, ]" is no JSON.
    const std::string_view cut = body.substr(begin, end - begin);
    const bool dangling =
        cut.find_last_not_of(" \t\r\n") != std::string_view::npos && cut[cut.find_last_not_of(" \t\r\n")] == ',';
    rest = std::string(body.substr(0, begin)).append(dangling ? "," : "").append(body.substr(end));
  }
  auto parsed = parse_json(rest);
  if (!parsed) return bad_request(parsed.error().message);
  envelope.review = std::move(*parsed);
  return envelope;
}

// "Workload team-a/train"; as much of it as there is.
std::string name_of(const json& object) {
  const std::string_view ns = string_at(object, {"metadata", "namespace"});
  std::string name(string_at(object, {"kind"}));
  if (!name.empty()) name += " ";
  if (!ns.empty()) name.append(ns).append("/");
  return name.append(string_at(object, {"metadata", "name"}));
}

class Conversion {
 public:
  explicit Conversion(QueueVersion to) : to_(to) {}

  // Appends the converted object's text to `out`.
  Outcome<> convert(std::string_view text, size_t index, std::string& out) {
    auto object = parse_json(text);
    const std::string place = "request.objects[" + std::to_string(index) + "]";
    if (!object) return fail(place + " is no JSON: " + object.error().message);
    if (index == 0) first_kind_ = string_at(*object, {"kind"});
    if (auto converted = convert_object(*object, to_); !converted) {
      return fail(name_of(*object) + " (" + place + ") cannot be converted: " + converted.error().message);
    }
    out += to_text(*object);
    return Done{};
  }
  const std::string& first_kind() const { return first_kind_; }

 private:
  const QueueVersion to_;
  std::string first_kind_;
};

std::string encode(std::string_view uid, std::string_view converted, const std::string& problem) {
  json result = {{"status", problem.empty() ? "Success" : "Failure"}};
  if (!problem.empty()) result["message"] = problem;
  std::string body = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":)";
  body += to_text(json(uid)) + R"(,"result":)" + to_text(result) + R"(,"convertedObjects":[)";
  body.reserve(body.size() + converted.size() + 3);
  return body.append(converted).append("]}}");
}

}  // namespace

Result<ConversionAnswer, ReviewError> answer_conversion_review(std::string_view body) {
  auto envelope = open_envelope(body);
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
  answer.objects = envelope->objects.size();
  const auto to = parse_queue_version(string_at(review, {"request", "desiredAPIVersion"}));
  std::string converted;
  if (to) {
    Conversion conversion(*to);
    converted.reserve(body.size() + body.size() / 8);
    for (size_t i = 0; i < envelope->objects.size() && answer.problem.empty(); ++i) {
      if (i > 0) converted += ",";
      if (auto done = conversion.convert(envelope->objects[i], i, converted); !done) {
        answer.problem = done.error().message;
      }
    }
    answer.kind = conversion.first_kind();
  } else {
    answer.problem = "request.desiredAPIVersion: " + to.error().message;
  }
  if (!answer.problem.empty()) converted.clear();
  answer.body = encode(uid, converted, answer.problem);
  return answer;
}

}  // namespace muster
