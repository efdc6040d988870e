#include "api/codec/yaml_node.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <optional>

namespace muster {
namespace {

using Kind = YamlNode::Kind;

std::string text_of(const yaml_char_t* text, size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}
std::string text_of(const yaml_char_t* text) {
  return text ? reinterpret_cast<const char*>(text) : "";
}

// libyaml's parser, one event at a time.
class EventStream {
 public:
  explicit EventStream(std::string_view text) : text_(text) {
    if (!yaml_parser_initialize(&parser_)) return;
    initialized_ = true;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~EventStream() {
    yaml_event_delete(&event_);
    if (initialized_) yaml_parser_delete(&parser_);
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // The event stays valid until the next call; nullptr on an error.
  const yaml_event_t* next() {
    yaml_event_delete(&event_);
    return initialized_ && yaml_parser_parse(&parser_, &event_) ? &event_ : nullptr;
  }

  YamlError error() const {
    if (parser_.error == YAML_READER_ERROR) {
      const TextPlace place = place_of(text_, parser_.problem_offset);
      return {place.line, place.column, parser_.problem};
    }
    const bool has_place = parser_.problem_mark.line != 0 || parser_.problem_mark.column != 0;
    const yaml_mark_t& mark = has_place ? parser_.problem_mark : parser_.mark;
    std::string message = parser_.context ? std::string(parser_.context) + ": " : "";
    const std::string_view problem = parser_.problem ? parser_.problem : "out of memory";
    message += problem;
    if (problem == "mapping values are not allowed in this context") {
      message += " (check the indentation, and put text that contains ': ' in quotes)";
    } else if (problem == "found character that cannot start any token") {
      message += " (indent with blanks, not tabs, and put text that starts with @, ` or % in quotes)";
    }
    // An open bracket or quote is noticed lines after it: name where its value begins.
    const bool elsewhere = parser_.context != nullptr && parser_.context_mark.line < mark.line;
    if (elsewhere) message += "; the value begins in line " + std::to_string(parser_.context_mark.line + 1);
    return {mark.line + 1, mark.column + 1, std::move(message)};
  }

 private:
  const std::string_view text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  bool initialized_ = false;
};

class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, size_t max_depth) : events_(text), max_depth_(max_depth) {}

  Result<YamlTree, YamlError> build() {
    for (;;) {
      const yaml_event_t* event = events_.next();
      if (event == nullptr) return fail_with(events_.error());
      if (event->type == YAML_STREAM_END_EVENT) return std::move(tree_);
      if (auto error = take(*event)) return fail_with(*std::move(error));
    }
  }

 private:
  std::optional<YamlError> take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        anchors_.clear();
        return std::nullopt;
      case YAML_ALIAS_EVENT:
        return add_alias(event);
      case YAML_SCALAR_EVENT:
        add_scalar(event);
        return std::nullopt;
      case YAML_SEQUENCE_START_EVENT:
        return open(Kind::kSequence, event, event.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT:
        return open(Kind::kMapping, event, event.data.mapping_start.anchor);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  size_t add(Kind kind, const yaml_event_t& event, const yaml_char_t* anchor) {
    const size_t position = tree_.nodes.size();
    tree_.nodes.push_back({kind, event.start_mark.line + 1, event.start_mark.column + 1});
    if (open_.empty()) {
      tree_.documents.push_back(position);
    } else {
      tree_.nodes[open_.back()].children.push_back(position);
    }
    if (anchor != nullptr) anchors_[text_of(anchor)] = position;
    return position;
  }

  void add_scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    YamlNode& node = tree_.nodes[add(Kind::kScalar, event, scalar.anchor)];
    node.plain = scalar.plain_implicit != 0;
    node.tag = text_of(scalar.tag);
    node.text = text_of(scalar.value, scalar.length);
  }

  std::optional<YamlError> open(Kind kind, const yaml_event_t& event, const yaml_char_t* anchor) {
    open_.push_back(add(kind, event, anchor));
    if (open_.size() <= max_depth_) return std::nullopt;
    return error_at(event, "lists and objects are nested more than " + std::to_string(max_depth_) + " deep");
  }

  std::optional<YamlError> add_alias(const yaml_event_t& event) {
    const std::string name = text_of(event.data.alias.anchor);
    const auto anchor = anchors_.find(name);
    if (anchor == anchors_.end()) {
      return error_at(event, "unknown anchor '" + name + "' referenced: define it with &" + name + " further up");
    }
    for (size_t position : open_) {
      if (position == anchor->second) return error_at(event, "anchor '" + name + "' value contains itself");
    }
    const size_t target = anchor->second;
    YamlNode& node = tree_.nodes[add(Kind::kAlias, event, nullptr)];
    node.text = name;
    node.target = target;
    return std::nullopt;
  }

  static YamlError error_at(const yaml_event_t& event, std::string message) {
    return {event.start_mark.line + 1, event.start_mark.column + 1, std::move(message)};
  }

  EventStream events_;
  const size_t max_depth_;
  YamlTree tree_;
  std::vector<size_t> open_;
  std::map<std::string, size_t> anchors_;
};

}  // namespace

TextPlace place_of(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')), before.size() - line_start + 1};
}

Result<YamlTree, YamlError> parse_yaml_tree(std::string_view text, size_t max_depth) {
  return TreeBuilder(text, max_depth).build();
}

}  // namespace muster
