#include "api/codec/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "api/codec/managed_fields.h"
#include "api/codec/tree_memory.h"

namespace muster {
namespace {

using nlohmann::json;

// Builds a DOM from SAX events, which is where depth, duplicate keys and the memory of the
// tree can be seen before they do harm.
class StrictDomBuilder {
 public:
  StrictDomBuilder(JsonLimits limits, size_t tree_bytes) : limits_(limits), allowed_(tree_bytes), left_(tree_bytes) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) {
    return charge(kStringBytes + bytes_of_text(value.size())) && put(std::move(value));
  }
  bool binary(json::binary_t&) { return reject("binary values are not JSON"); }

  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!charge(kMemberBytes + bytes_of_text(name.size()))) return false;
    auto& object = *open_.back()->get_ptr<json::object_t*>();
    auto [slot, is_new] = object.try_emplace(name);
    if (!is_new) return reject("duplicate key " + path_to_open() + name);
    slot_ = &slot->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." without the prefix.
    std::string text = e.what();
    if (auto end = text.find("] "); end != std::string::npos) text = text.substr(end + 2);
    return reject(text + " (byte " + std::to_string(position) + ")");
  }

  json take() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  template <class V>
  json* place(V&& value) {
    if (open_.empty()) {
      root_ = std::forward<V>(value);
      return &root_;
    }
    if (auto* array = open_.back()->get_ptr<json::array_t*>()) {
      return &array->emplace_back(std::forward<V>(value));
    }
    *slot_ = std::forward<V>(value);
    return slot_;
  }
  bool charge(size_t bytes) {
    if (bytes > left_) {
      return reject("as a tree it would take more than the " + std::to_string(allowed_) +
                    " bytes of memory that one document may take: it has too many values");
    }
    left_ -= bytes;
    return true;
  }
  // Its place in the array around it; a member's is charged with its key.
  bool charge_place() { return open_.empty() || !open_.back()->is_array() || charge(kItemBytes); }
  template <class V>
  bool put(V&& value) {
    if (!charge_place()) return false;
    place(std::forward<V>(value));
    return true;
  }
  bool open(json::value_t container) {
    if (open_.size() >= limits_.max_depth) {
      return reject("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
    if (!charge_place() || !charge(container == json::value_t::object ? kObjectBytes : kArrayBytes)) return false;
    open_.push_back(place(json(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool reject(std::string why) {
    error_ = std::move(why);
    return false;
  }

  // "spec.template.": only for an error message, so found by searching.
  std::string path_to_open() const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      if (open_[i]->is_array()) {
        path += "[" + std::to_string(open_[i]->size() - 1) + "]";
        continue;
      }
      for (const auto& [name, child] : open_[i]->items()) {
        if (&child == open_[i + 1]) path += (path.empty() ? "" : ".") + name;
      }
    }
    return path.empty() ? path : path + ".";
  }

  const JsonLimits limits_;
  const size_t allowed_;
  size_t left_;
  json root_;
  std::vector<json*> open_;  // the containers around the next value, outermost first
  json* slot_ = nullptr;     // where the value of the last key belongs
  std::string error_;
};

const json kEmptyArray = json::array();
const json kEmptyObject = json::object();

}  // namespace

namespace {

constexpr size_t kAnyMemory = std::numeric_limits<size_t>::max();

Result<json> parse(std::string_view bytes, JsonLimits limits, size_t tree_bytes) {
  StrictDomBuilder builder(limits, tree_bytes);
  if (!json::sax_parse(bytes.begin(), bytes.end(), &builder)) return fail(builder.error());
  return builder.take();
}

Result<json> parse_clean(std::string_view bytes, JsonLimits limits, size_t tree_bytes) {
  const std::string clean = without_managed_fields(bytes);
  auto parsed = parse(clean, limits, tree_bytes);
  // The error describes the received bytes.
  return parsed.ok() || clean.size() == bytes.size() ? std::move(parsed) : parse(bytes, limits, tree_bytes);
}

}  // namespace

Result<json> parse_json(std::string_view bytes, JsonLimits limits) {
  return parse(bytes, limits, kAnyMemory);
}

Result<json> parse_json_within(std::string_view bytes, size_t tree_bytes) {
  return parse(bytes, {}, tree_bytes);
}

Result<json> parse_without_managed_fields(std::string_view bytes, JsonLimits limits) {
  return parse_clean(bytes, limits, kAnyMemory);
}

Result<json> parse_without_managed_fields_within(std::string_view bytes, size_t tree_bytes) {
  return parse_clean(bytes, {}, tree_bytes);
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

const json* find_path(const json& value, std::initializer_list<std::string_view> keys) {
  const json* at = &value;
  for (std::string_view key : keys) {
    const auto* object = at->get_ptr<const json::object_t*>();
    if (!object) return nullptr;
    auto child = object->find(key);
    if (child == object->end()) return nullptr;
    at = &child->second;
  }
  return at;
}

std::string_view string_at(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  const auto* text = found ? found->get_ptr<const std::string*>() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

std::optional<int64_t> int_at(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  if (!found || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return found->get<int64_t>();
}

int32_t int32_at(const json& value, std::initializer_list<std::string_view> keys, int32_t absent) {
  return static_cast<int32_t>(std::clamp<int64_t>(
      int_at(value, keys).value_or(absent), std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

std::optional<int32_t> optional_int32_at(const json& value, std::initializer_list<std::string_view> keys) {
  if (!int_at(value, keys)) return std::nullopt;
  return int32_at(value, keys);
}

bool bool_at(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  return found && found->is_boolean() && found->get<bool>();
}

const json& array_at(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  return found && found->is_array() ? *found : kEmptyArray;
}

std::vector<std::string> strings_at(const json& value, std::initializer_list<std::string_view> keys) {
  std::vector<std::string> strings;
  for (const json& item : array_at(value, keys)) {
    if (const auto* text = item.get_ptr<const std::string*>()) strings.push_back(*text);
  }
  return strings;
}

const json& object_at(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  return found && found->is_object() ? *found : kEmptyObject;
}

namespace {
std::optional<std::string_view> metadata_entry(const json& object, std::string_view map, std::string_view key) {
  const json* found = find_path(object, {"metadata", map, key});
  if (!found || !found->is_string()) return std::nullopt;
  return std::string_view(*found->get_ptr<const std::string*>());
}
}  // namespace

std::optional<std::string_view> label(const json& object, std::string_view key) {
  return metadata_entry(object, "labels", key);
}

std::optional<std::string_view> annotation(const json& object, std::string_view key) {
  return metadata_entry(object, "annotations", key);
}

}  // namespace muster
