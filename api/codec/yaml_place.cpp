#include "api/codec/yaml_place.h"

#include <string>

#include "base/whole_number.h"

namespace muster {
namespace {

using Kind = YamlNode::Kind;

// The text after the first step of a path: empty, or ".x" without its dot, or "[".
bool at_boundary(std::string_view rest) {
  return rest.empty() || rest.front() == '.' || rest.front() == '[';
}

std::string_view after_dot(std::string_view rest) {
  return rest.starts_with('.') ? rest.substr(1) : rest;
}

class Finder {
 public:
  explicit Finder(const YamlTree& tree) : tree_(tree) {}

  // The part of the path that was found decides between two ways to read it (a key can contain dots).
  struct Found {
    size_t line;
    size_t left;  // number of bytes of the path without a match
  };

  Found find(size_t position, std::string_view path, size_t line) {
    const YamlNode* node = &tree_.nodes[position];
    if (node->kind == Kind::kAlias) node = &tree_.nodes[node->target];
    Found best{line, path.size()};
    // Keys such as "a" and "a.b" side by side could be tried in very many ways.
    if (path.empty() || ++steps_ > kMostSteps) return best;
    if (node->kind == Kind::kSequence) return find_item(*node, path, best);
    if (node->kind != Kind::kMapping) return best;
    for (size_t i = 0; i + 1 < node->children.size(); i += 2) {
      const YamlNode& key = tree_.nodes[node->children[i]];
      const std::string_view rest = without_key(path, key.text);
      if (rest.data() == nullptr) continue;
      const Found found = find(node->children[i + 1], after_dot(rest), key.line);
      if (found.left < best.left) best = found;
    }
    return best;
  }

 private:
  Found find_item(const YamlNode& node, std::string_view path, Found best) {
    const size_t end = path.find(']');
    if (!path.starts_with('[') || end == std::string_view::npos) return best;
    const auto index = whole_number<size_t>(path.substr(1, end - 1));
    if (!index || *index >= node.children.size()) return best;
    const size_t child = node.children[*index];
    return find(child, after_dot(path.substr(end + 1)), tree_.nodes[child].line);
  }

  // The path behind "key" or "[key]"; without data when it does not begin so.
  static std::string_view without_key(std::string_view path, const std::string& key) {
    if (key.empty()) return {};
    if (path.starts_with(key) && at_boundary(path.substr(key.size()))) return path.substr(key.size());
    const std::string in_brackets = "[" + key + "]";
    if (path.starts_with(in_brackets)) return path.substr(in_brackets.size());
    return {};
  }

  static constexpr size_t kMostSteps = 10'000;

  const YamlTree& tree_;
  size_t steps_ = 0;
};

}  // namespace

size_t line_of_field(const YamlTree& tree, size_t root, std::string_view path) {
  return Finder(tree).find(root, path, tree.nodes[root].line).line;
}

}  // namespace muster
