// The words that docs/style.md forbids, in comments of sources and scripts and in the pages. The table of that page is
// the only list. Text in backticks is code, and text in quotation marks is another program's: neither is checked.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "test/support/files.h"

namespace words_test {

namespace {

namespace fs = std::filesystem;
using muster::test::read_file;

const fs::path kRoot = muster::test::source_tree();

// Forbidden word or phrase, in lower case, and what to write.
using Words = std::map<std::string, std::string, std::less<>>;

enum class Syntax { kNone, kSlashes, kGo, kHash, kPage };

struct Hit {
  size_t line;  // from 1
  std::string word;

  bool operator==(const Hit&) const = default;
};

// The rows of the table of docs/style.md: | `word`, `word` | what to write |
Words forbidden_words(const std::string& page) {
  const size_t begin = page.find("\n| Not | But |\n");
  REQUIRE(begin != std::string::npos);
  std::istringstream rows(page.substr(begin, page.find("\n\n", begin) - begin));
  static const std::regex kRow(R"(\| (.*`) \| (.+) \|)");
  static const std::regex kWord("`([^`]+)`");
  Words words;
  for (std::string row; std::getline(rows, row);) {
    std::smatch cells;
    if (!std::regex_match(row, cells, kRow)) continue;
    const std::string listed = cells[1];
    for (std::sregex_iterator it(listed.begin(), listed.end(), kWord), end; it != end; ++it) {
      INFO((*it)[1].str());
      CHECK(words.emplace((*it)[1], cells[2]).second);
    }
  }
  return words;
}

// Prose of a file: a paragraph is one line of `text`, with single spaces, so that a phrase over two lines is found.
class Prose {
 public:
  // A line of a comment or page; it continues the paragraph if the line before was added too.
  void add(std::string_view content, size_t line, bool continues) {
    text_ += continues && line == last_ + 1 ? ' ' : '\n';
    lines_.resize(text_.size(), line);
    for (const char letter : content) {
      const bool space = std::isspace(static_cast<unsigned char>(letter)) != 0;
      if (space && (text_.back() == ' ' || text_.back() == '\n')) continue;
      text_ += space ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    lines_.resize(text_.size(), line);
    last_ = line;
  }

  // In the order of the text.
  std::vector<Hit> hits(const Words& words) const {
    std::string text = text_;
    blank(text, '`');
    blank(text, '"');
    std::vector<Hit> found;
    for (size_t at = 0; at < text.size(); ++at) {
      if (!is_letter(text[at]) || (at > 0 && is_letter(text[at - 1]))) continue;
      size_t end = at;
      while (end < text.size() && is_letter(text[end])) ++end;
      // All words and phrases that begin with this word.
      const std::string_view first = std::string_view(text).substr(at, end - at);
      for (auto it = words.lower_bound(first); it != words.end() && it->first.starts_with(first); ++it) {
        const size_t after = at + it->first.size();
        if (text.compare(at, it->first.size(), it->first) == 0 && (after >= text.size() || !is_letter(text[after])))
          found.push_back({lines_[at], it->first});
      }
      at = end;
    }
    return found;
  }

 private:
  // Also of names of code, as may_know and may-know.
  static bool is_letter(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-';
  }

  // What is between two of these marks in one paragraph becomes spaces.
  static void blank(std::string& text, char mark) {
    for (size_t open = text.find(mark); open != std::string::npos; open = text.find(mark, open)) {
      const size_t close = text.find(mark, open + 1);
      if (close == std::string::npos) return;
      const bool one_paragraph = text.find('\n', open) > close;
      if (one_paragraph)
        std::fill(text.begin() + static_cast<long>(open), text.begin() + static_cast<long>(close), ' ');
      open = one_paragraph ? close + 1 : open + 1;
    }
  }

  std::string text_;
  std::vector<size_t> lines_;  // of each character
  size_t last_ = 0;
};

// Where a literal that begins at `at` ends, or `at` where none does. A literal with quotation marks ends with its line.
size_t end_of_literal(std::string_view text, size_t at, Syntax syntax) {
  const char quote = text[at];
  if (quote == '"' && at > 0 && text[at - 1] == 'R' && syntax == Syntax::kSlashes) {
    const size_t open = text.find('(', at);
    const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    const size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
  }
  if (quote == '`') {
    while (++at < text.size() && text[at] != '`') at += syntax != Syntax::kGo && text[at] == '\\' ? 1 : 0;
    return std::min(at + 1, text.size());
  }
  // In C++ ' also groups the digits of a number.
  if (quote != '"' && (quote != '\'' || (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0)))
    return at;
  while (++at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 1 : 0;
  return std::min(at + 1, text.size());
}

Prose slash_comments(std::string_view text, Syntax syntax) {
  Prose prose;
  size_t line = 1, begin_of_line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t literal_end = end_of_literal(text, at, syntax);
    const bool block = text.substr(at, 2) == "/*";
    size_t end = literal_end > at ? literal_end : at + 1;
    if (block || text.substr(at, 2) == "//") {
      end = std::min(text.find(block ? "*/" : "\n", at), text.size());
      // A comment behind code continues no paragraph.
      const bool alone = text.find_first_not_of(" \t", begin_of_line) == at;
      std::istringstream rows{std::string(text.substr(at, end - at))};
      size_t row_line = line;
      for (std::string row; std::getline(rows, row); ++row_line) {
        const size_t content = row.find_first_not_of("/*<! \t");
        if (content != std::string::npos) prose.add(row.substr(content), row_line, alone || row_line > line);
      }
    }
    for (; at < end; ++at) {
      if (text[at] != '\n') continue;
      ++line;
      begin_of_line = at + 1;
    }
  }
  return prose;
}

Prose hash_comments(const std::string& text) {
  Prose prose;
  std::istringstream rows(text);
  size_t line = 0;
  for (std::string row; std::getline(rows, row);) {
    ++line;
    const size_t content = row.find_first_not_of(" \t");
    const bool alone = content != std::string::npos && row[content] == '#';
    const size_t hash = alone ? content : row.find(" # ");
    if (hash == std::string::npos) continue;
    const size_t begin = row.find_first_not_of(" #", hash);
    if (begin != std::string::npos) prose.add(row.substr(begin), line, alone);
  }
  return prose;
}

// Of Markdown, without what is in boxes.
Prose page_text(const std::string& text) {
  static const std::regex kBegin(R"(\s*([-*|#>]|\d+\.).*)");
  Prose prose;
  std::istringstream rows(text);
  bool boxed = false;
  size_t line = 0;
  for (std::string row; std::getline(rows, row);) {
    ++line;
    const size_t content = row.find_first_not_of(' ');
    if (content == std::string::npos) continue;
    const bool fence = row.compare(content, 3, "```") == 0;
    if (fence) boxed = !boxed;
    if (!boxed && !fence) prose.add(row.substr(content), line, !std::regex_match(row.substr(0, content + 9), kBegin));
  }
  return prose;
}

Syntax syntax_of(const fs::path& path, const std::string& text) {
  static const std::map<std::string, Syntax> kByExtension = {
      {".cpp", Syntax::kSlashes}, {".h", Syntax::kSlashes},  {".ts", Syntax::kSlashes}, {".tsx", Syntax::kSlashes},
      {".go", Syntax::kGo},       {".cmake", Syntax::kHash}, {".sh", Syntax::kHash},    {".py", Syntax::kHash}};
  const auto known = kByExtension.find(path.extension().string());
  if (known != kByExtension.end()) return known->second;
  if (path.extension() == ".md") {
    const bool history = path.parent_path() == "docs/decisions";
    return path == "README.md" || (*path.begin() == "docs" && !history) ? Syntax::kPage : Syntax::kNone;
  }
  const bool script = path.filename() == "CMakeLists.txt" || (path.extension().empty() && text.starts_with("#!"));
  return script ? Syntax::kHash : Syntax::kNone;
}

std::vector<Hit> hits_in(const fs::path& path, const std::string& text, const Words& words) {
  switch (const Syntax syntax = syntax_of(path, text)) {
    case Syntax::kNone:
      return {};
    case Syntax::kHash:
      return hash_comments(text).hits(words);
    case Syntax::kPage:
      return page_text(text).hits(words);
    default:
      return slash_comments(text, syntax).hits(words);
  }
}

Words words_of_style() {
  return forbidden_words(read_file(kRoot / "docs/style.md"));
}

// Relative to the root; without build folders, and what tools have installed.
std::vector<fs::path> files_of_tree() {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(kRoot); entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path path = fs::relative(entry->path(), kRoot);
    const std::string top = path.begin()->string();
    const bool foreign = top.starts_with("build") || top == ".git" || path.filename() == "node_modules";
    if (entry->is_directory() && (foreign || path == "test/vectors")) entry.disable_recursion_pending();
    if (entry->is_regular_file() && !foreign && fs::file_size(*entry) < (1U << 20)) files.push_back(path);
  }
  return files;
}

}  // namespace

TEST_CASE("words: comments and pages have none of the words of docs/style.md") {
  const Words words = words_of_style();
  std::map<Syntax, size_t> seen;
  for (const fs::path& path : files_of_tree()) {
    const std::string text = read_file(kRoot / path);
    ++seen[syntax_of(path, text)];
    for (const Hit& hit : hits_in(path, text, words))
      FAIL_CHECK(path.string() << ":" << hit.line << ": \"" << hit.word << "\": " << words.at(hit.word));
  }
  CHECK(seen[Syntax::kSlashes] > 1800);
  CHECK(seen[Syntax::kGo] > 150);
  CHECK(seen[Syntax::kHash] > 40);
  CHECK(seen[Syntax::kPage] > 40);
}

TEST_CASE("words: the table of docs/style.md is read whole") {
  const Words words = words_of_style();
  CHECK(words.size() > 30);
  for (const char* word : {"anew", "stands in", "of its own", "nobody", "strangers", "may"})
    CHECK(words.contains(word));
  CHECK(words.at("anew").find("again") != std::string::npos);
}

TEST_CASE("words: a word is found in each kind of comment, with its line") {
  const Words words = words_of_style();
  const std::vector<Hit> nobody = {{2, "nobody"}};
  CHECK(hits_in("engine/a.h", "int a;\n  // For nobody.\n", words) == nobody);
  CHECK(hits_in("engine/a.cpp", "int a = 1'000'000;\nint b;  // Nobody's.\n", words) == nobody);
  CHECK(hits_in("engine/a.cpp", "const char* a = \"\\\"\";\nint b;  // nobody\n", words) == nobody);
  CHECK(hits_in("engine/a.cpp", "/* One,\n * nobody. */", words) == nobody);
  CHECK(hits_in("test/a.go", "s := `\\`\n// nobody\n", words) == nobody);
  CHECK(hits_in("page/a.tsx", "const a = `\\``\n// nobody\n", words) == nobody);
  CHECK(hits_in("scripts/a", "#!/bin/sh\n# Nobody reads it.\n", words) == nobody);
  CHECK(hits_in("CMakeLists.txt", "set(a 1)\nset(b 2) # nobody\n", words) == nobody);
  CHECK(hits_in("docs/tasks/a.md", "# A page\nNobody reads it.\n", words) == nobody);
}

TEST_CASE("words: a phrase over two lines is found in one paragraph, and not over two") {
  const Words words = words_of_style();
  const std::vector<Hit> own = {{1, "of its own"}};
  CHECK(hits_in("a.h", "// A thread of\n// its own.\n", words) == own);
  CHECK(hits_in("README.md", "A thread of its\nown.\n", words) == own);
  CHECK(hits_in("a.h", "int a;  // part of\nint b;  // its own\n", words).empty());
  CHECK(hits_in("README.md", "| part of its |\n| own |\n", words).empty());
  CHECK(hits_in("a.h", "// He may, and\n// so many may not.\n", words) ==
        std::vector<Hit>{{1, "may"}, {2, "so many"}, {2, "may"}});
}

TEST_CASE("words: code, strings, quotations, names and history are not checked") {
  const Words words = words_of_style();
  CHECK(hits_in("a.cpp", "const char* a = \"// nobody\";\nint told = may();\n", words).empty());
  CHECK(hits_in("a.cpp", "const char* a = R\"(\n// nobody \" )\";\n", words).empty());
  CHECK(hits_in("a.go", "s := `\n// nobody\n`\n", words).empty());
  CHECK(hits_in("a.h", "// `nobody` is a user, \"nobody may\" a sentence of\n// Kueue, may_know() a function.\n", words)
            .empty());
  CHECK(hits_in("a.h", "// Mayhem, untold, mending.\n", words).empty());
  CHECK(hits_in("docs/a.md", "```\nnobody\n```\n", words).empty());
  CHECK(hits_in("CHANGELOG.md", "Nobody.\n", words).empty());
  CHECK(hits_in("docs/decisions/a.md", "Nobody.\n", words).empty());
  CHECK(hits_in("test/a.yaml", "# nobody\n", words).empty());
}

}  // namespace words_test
