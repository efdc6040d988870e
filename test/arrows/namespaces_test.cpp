// Every folder has a namespace: the vocabulary of base/ and api/ is muster itself, and each room above it has the
// namespace of its top-level folder, or its own where this table says so.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace namespaces_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = muster::test::source_tree();

// Folders whose namespace is not muster::<top-level folder>.
const std::map<std::string, std::string> kOtherwise = {
    {"base", "muster"},
    {"api", "muster"},
    {"kinds", "muster"},
    {"engine/recording", "muster::recording"},
    {"forecast/starts", "muster::starts"},
    {"commands/agent", "muster::agent"},
    {"commands/wait", "muster::wait"},
};

std::string namespace_of(fs::path folder) {
  const std::string top = folder.begin()->string();
  for (; !folder.empty(); folder = folder.parent_path()) {
    const auto row = kOtherwise.find(folder.string());
    if (row != kOtherwise.end()) return row->second;
  }
  return "muster::" + top;
}

std::set<std::string> all_namespaces() {
  std::set<std::string> names;
  for (const auto& row : kOtherwise) names.insert(row.second);
  for (const auto& entry : fs::directory_iterator(kRoot)) names.insert("muster::" + entry.path().filename().string());
  return names;
}

// The openings of muster's namespaces that a source of this folder must not have. A block that only declares types
// (`class X;`) can be of any namespace.
std::vector<std::string> wrong_openings(const std::string& text, const std::string& expected) {
  static const std::set<std::string> known = all_namespaces();
  static const std::regex opening(R"(namespace (muster[\w:]*) \{)");
  static const std::regex declaration(R"((class|struct|enum class) \w+;.*)");
  std::vector<std::string> wrong;
  std::string foreign;  // The name of an open block that must end before anything but declarations is in it.
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);) {
    std::smatch match;
    if (std::regex_match(row, match, opening)) {
      const std::string name = match[1];
      const bool nested = name.starts_with(expected + "::") && !known.contains(name);
      foreign = name == expected || nested ? "" : name;
    } else if (row.starts_with("}")) {
      foreign.clear();
    } else if (!foreign.empty() && !row.empty() && !std::regex_match(row, declaration)) {
      wrong.push_back(foreign);
      foreign.clear();
    }
  }
  return wrong;
}

// The sources of the product, relative to the root.
std::vector<fs::path> product_sources() {
  std::vector<fs::path> sources;
  for (auto entry = fs::recursive_directory_iterator(kRoot); entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path path = fs::relative(entry->path(), kRoot);
    const std::string top = path.begin()->string();
    if (top == "test" || top.starts_with("build") || top.starts_with(".")) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (path.extension() == ".h" || path.extension() == ".cpp") {
      sources.push_back(path);
    }
  }
  return sources;
}

}  // namespace

TEST_CASE("namespaces: the sources of a folder open the namespace of their room") {
  size_t sources = 0;
  for (const fs::path& path : product_sources()) {
    if (!path.has_parent_path()) continue;
    ++sources;
    for (const std::string& name :
         wrong_openings(muster::test::read_file(kRoot / path), namespace_of(path.parent_path())))
      FAIL_CHECK(path.string() << " opens " << name << ", not " << namespace_of(path.parent_path()));
  }
  CHECK(sources > 700);
}

TEST_CASE("namespaces: a wrong opening is found, and declarations of another room's types are none") {
  CHECK(namespace_of("scheduler/views") == "muster::scheduler");
  CHECK(namespace_of("api/meta") == "muster");
  CHECK(namespace_of("engine/recording") == "muster::recording");
  CHECK(wrong_openings("namespace muster {\nint a;\n}  // namespace muster\n", "muster::state").size() == 1);
  CHECK(wrong_openings("namespace muster::engine {\nint a;\n}\n", "muster").size() == 1);
  CHECK(wrong_openings("namespace muster::state {\nint a;\n}\n", "muster::state").empty());
  CHECK(wrong_openings("namespace muster::state::parts {\nint a;\n}\n", "muster::state").empty());
  CHECK(wrong_openings("namespace muster::engine {\nclass Engine;\n}\n\nnamespace muster::state {\nint a;\n}\n",
                       "muster::state")
            .empty());
  CHECK(wrong_openings("namespace muster::engine {\nclass Engine;\nint a;\n}\n", "muster::state").size() == 1);
}

TEST_CASE("namespaces: no header has a using-directive") {
  const std::regex directive(R"((^|\n)\s*using namespace )");
  for (const fs::path& path : product_sources()) {
    if (path.extension() != ".h") continue;
    CHECK_MESSAGE(!std::regex_search(muster::test::read_file(kRoot / path), directive), path.string());
  }
}

}  // namespace namespaces_test
