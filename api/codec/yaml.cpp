#include "api/codec/yaml.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "api/codec/json.h"
#include "api/codec/utf8.h"
#include "api/codec/yaml_node.h"
#include "api/codec/yaml_scalar.h"

namespace muster {
namespace {

using nlohmann::json;
using Kind = YamlNode::Kind;

YamlError error_at(const YamlNode& node, std::string message) {
  return {node.line, node.column, std::move(message)};
}

bool is_merge_key(const YamlNode& node) {
  constexpr std::string_view kMergeTag = "tag:yaml.org,2002:merge";
  return node.kind == Kind::kScalar && node.text == "<<" && (node.plain || node.tag == kMergeTag);
}

// Turns nodes into JSON. Aliases are expanded here, and counted.
class Converter {
 public:
  Converter(const YamlTree& tree, YamlLimits limits) : tree_(tree), limits_(limits) {}

  Result<json, YamlError> convert(size_t position) {
    const YamlNode& node = tree_.nodes[position];
    if (auto error = count(node)) return fail_with(*std::move(error));
    switch (node.kind) {
      case Kind::kScalar:
        return convert_scalar(node);
      case Kind::kSequence:
        return convert_sequence(node);
      case Kind::kMapping:
        return convert_mapping(node);
      case Kind::kAlias:
        return convert_alias(node);
    }
    return json();
  }

 private:
  std::optional<YamlError> count(const YamlNode& node) {
    if (depth_ > limits_.max_depth) {
      return error_at(node, "aliases nest more than " + std::to_string(limits_.max_depth) + " deep");
    }
    if (alias_depth_ == 0) return std::nullopt;
    expanded_ += 1 + node.text.size();
    if (expanded_ <= limits_.max_alias_expansion) return std::nullopt;
    return error_at(node, "document contains excessive aliasing: write out the values instead");
  }

  static Result<json, YamlError> convert_scalar(const YamlNode& node) {
    auto value = resolve_yaml_scalar(node.text, node.plain, node.tag);
    if (!value) return fail_with(error_at(node, value.error().message));
    if (value->is_number_float() && !std::isfinite(value->get<double>())) {
      return fail_with(error_at(node, "`" + node.text + "` has no place in JSON: put it in quotes if it is text"));
    }
    return std::move(*value);
  }

  Result<json, YamlError> convert_sequence(const YamlNode& node) {
    json list = json::array();
    ++depth_;
    for (size_t child : node.children) {
      auto value = convert(child);
      if (!value) return value;
      list.push_back(std::move(*value));
    }
    --depth_;
    return list;
  }

  Result<json, YamlError> convert_alias(const YamlNode& node) {
    ++alias_depth_;
    ++depth_;
    auto value = convert(node.target);
    --depth_;
    --alias_depth_;
    return value;
  }

  Result<json, YamlError> convert_mapping(const YamlNode& node) {
    json object = json::object();
    std::set<std::string> written;  // only where a merge can add keys too
    const bool has_merge = has_merge_key(node);
    ++depth_;
    for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const YamlNode& key_node = tree_.nodes[node.children[i]];
      if (is_merge_key(key_node)) {
        if (auto error = merge(node.children[i + 1], object)) return fail_with(*std::move(error));
        continue;
      }
      auto key = convert_key(node.children[i]);
      if (!key) return fail_with(key.error());
      if (has_merge ? !written.insert(*key).second : object.contains(*key)) {
        YamlError error = error_at(key_node, "duplicate key \"" + *key + "\": keep one of them");
        error.duplicate_key = std::move(*key);
        return fail_with(std::move(error));
      }
      auto value = convert(node.children[i + 1]);
      if (!value) return value;
      object[*key] = std::move(*value);
    }
    --depth_;
    return object;
  }

  bool has_merge_key(const YamlNode& node) const {
    for (size_t i = 0; i < node.children.size(); i += 2) {
      if (is_merge_key(tree_.nodes[node.children[i]])) return true;
    }
    return false;
  }

  Result<std::string, YamlError> convert_key(size_t position) {
    const YamlNode& node = tree_.nodes[position];
    const bool is_alias = node.kind == Kind::kAlias;
    const YamlNode& scalar = is_alias ? tree_.nodes[node.target] : node;
    if (scalar.kind != Kind::kScalar) return fail_with(error_at(node, "a list or an object cannot be a key"));
    alias_depth_ += is_alias;
    if (auto error = count(scalar)) return fail_with(*std::move(error));
    alias_depth_ -= is_alias;
    const auto value = resolve_yaml_scalar(scalar.text, scalar.plain, scalar.tag);
    if (!value) return fail_with(error_at(node, value.error().message));
    auto key = yaml_key_text(*value);
    if (!key) return fail_with(error_at(node, key.error().message));
    return std::move(*key);
  }

  // "<<": the keys of an object, or of several objects; the first object with a key has precedence. A merge
  // overwrites the keys above it in the text.
  std::optional<YamlError> merge(size_t position, json& into) {
    const YamlNode& node = tree_.nodes[position];
    std::vector<size_t> sources{position};
    if (node.kind == Kind::kSequence) sources.assign(node.children.rbegin(), node.children.rend());
    for (size_t source : sources) {
      const YamlNode& written = tree_.nodes[source];
      const YamlNode& target = written.kind == Kind::kAlias ? tree_.nodes[written.target] : written;
      if (target.kind != Kind::kMapping) {
        return error_at(written, "map merge requires map or sequence of maps as the value");
      }
      auto object = convert(source);
      if (!object) return object.error();
      for (auto& [key, value] : object->items()) into[key] = std::move(value);
    }
    return std::nullopt;
  }

  const YamlTree& tree_;
  const YamlLimits limits_;
  size_t depth_ = 0, alias_depth_ = 0;
  size_t expanded_ = 0;
};

// The end of the JSON object or array that starts at `at`, by counting brackets.
size_t end_of_json(std::string_view text, size_t at) {
  size_t depth = 0;
  for (bool in_string = false; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Reads JSON values one after another; nullopt if the text is not JSON. This is much faster than reading it as
// YAML, and allows a deeper nesting.
std::optional<std::vector<YamlDocument>> read_json_values(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<YamlDocument> documents;
  size_t line = 1, counted = 0;
  for (size_t at = text.find_first_not_of(kBlanks); at < text.size(); at = text.find_first_not_of(kBlanks, at)) {
    if (text[at] != '{' && text[at] != '[') return std::nullopt;
    const size_t end = end_of_json(text, at);
    if (end == std::string_view::npos) return std::nullopt;
    auto value = parse_json(text.substr(at, end - at));
    if (!value) return std::nullopt;
    line += place_of(text.substr(counted), at - counted).line - 1;
    counted = at;
    documents.push_back({line, std::move(*value)});
    at = end;
  }
  if (documents.empty()) return std::nullopt;
  return documents;
}

}  // namespace

Result<std::vector<YamlDocument>, YamlError> read_yaml(std::string_view text, YamlLimits limits) {
  if (auto documents = read_json_values(text)) return *std::move(documents);
  if (const size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    const TextPlace place = place_of(text, at);
    return fail_with(YamlError{place.line, place.column, "invalid UTF-8: save the file as UTF-8"});
  }
  const auto tree = parse_yaml_tree(text, limits.max_depth);
  if (!tree) return fail_with(tree.error());
  Converter converter(*tree, limits);
  std::vector<YamlDocument> documents;
  for (size_t root : tree->documents) {
    auto value = converter.convert(root);
    if (!value) return fail_with(value.error());
    documents.push_back({tree->nodes[root].line, std::move(*value)});
  }
  return documents;
}

}  // namespace muster
