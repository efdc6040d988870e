// The arrows of the house: which room can include which, read from the link lines in CMakeLists.txt
// and checked against the #include lines; and what a pure room must not touch. A room is a folder with
// a library, as api or api/codec; a folder without one belongs to the room around it.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace arrows_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MUSTER_SOURCE_DIR;

using Rooms = std::map<std::string, std::set<std::string>>;

// room -> rooms it can include, closed over the link lines.
Rooms declared_arrows() {
  std::map<std::string, std::set<std::string>> direct;
  const std::string text =
      muster::test::read_file(kRoot / "CMakeLists.txt") + muster::test::read_file(kRoot / "test/CMakeLists.txt");
  const std::regex line(R"(\nmuster_(?:library|rule_table)\(([\w/]+)([^)]*)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    auto& to = direct[(*it)[1]];
    std::istringstream words((*it)[2].str());
    bool listing = false;
    for (std::string word; words >> word;) {
      if (word == "DEPENDS")
        listing = true;
      else if (word == "LINK" || word == "GENERATED" || word == "WITH")
        listing = false;
      else if (listing)
        to.insert(word);
    }
  }
  std::map<std::string, std::set<std::string>> closed;
  std::function<void(const std::string&, std::set<std::string>&)> reach = [&](const std::string& from,
                                                                              std::set<std::string>& seen) {
    for (const std::string& to : direct[from]) {
      if (seen.insert(to).second) reach(to, seen);
    }
  };
  for (const auto& [folder, to] : std::map(direct)) reach(folder, closed[folder]);
  return closed;
}

// The room of a path below the root, the innermost; empty: it is in none.
std::string room_of(fs::path path, const Rooms& rooms) {
  while (path.has_parent_path()) {
    path = path.parent_path();
    if (rooms.contains(path.string())) return path.string();
  }
  return "";
}

// With all folders below it.
std::vector<fs::path> sources_of(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const auto extension = entry.path().extension();
    if (extension == ".h" || extension == ".cpp") files.push_back(entry.path());
  }
  return files;
}

std::set<std::string> includes_of(const fs::path& file, char open) {
  std::set<std::string> names;
  const std::regex line(open == '"' ? R"re(^\s*#include "([^"]+)")re" : R"re(^\s*#include <([^>]+)>)re");
  std::istringstream text(muster::test::read_file(file));
  for (std::string row; std::getline(text, row);) {
    std::smatch match;
    if (std::regex_search(row, match, line)) names.insert(match[1]);
  }
  return names;
}

// What the outside world comes in by.
const std::set<std::string> kOutside = {"thread",   "mutex",        "condition_variable", "future",
                                        "atomic",   "fstream",      "httplib.h",          "ctime",
                                        "unistd.h", "sys/socket.h", "base/mutex.h",       "spdlog/spdlog.h"};

void check_purity(const std::string& folder, const std::set<std::string>& banned_headers,
                  const std::regex& banned_words) {
  for (const fs::path& file : sources_of(folder)) {
    INFO(file.string());
    for (char open : {'"', '<'}) {
      for (const std::string& name : includes_of(file, open)) {
        INFO("includes " << name);
        CHECK_FALSE(banned_headers.contains(name));
        CHECK_FALSE(name.starts_with("openssl/"));
      }
    }
    std::smatch match;
    const std::string text = muster::test::read_file(file);
    CHECK_MESSAGE(!std::regex_search(text, match, banned_words), "uses " << match.str());
  }
}

// What stands between `<` at `open` and its `>`, at the commas of that level.
std::vector<std::string> template_arguments(const std::string& text, size_t open) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '<' || letter == '(') ++depth;
    if (letter == '>' || letter == ')') --depth;
    if (depth == 0) return arguments;
    if (letter == ',' && depth == 1)
      arguments.emplace_back();
    else if (at != open)
      arguments.back() += letter;
  }
  return {};
}

// Addresses differ from run to run, so an order or a hash that is made of them does, too: containers with pointers in
// their key and no comparator, and addresses as numbers.
std::vector<std::string> orders_by_address(const std::string& text) {
  std::vector<std::string> found;
  const std::regex number(R"(\bu?intptr_t\b)");
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) found.push_back(it->str());
  const std::regex container(R"(\bstd::((?:unordered_)?(?:multi)?(set|map)|less|greater|hash)<)");
  const std::regex pointer(R"(\*|\w+Ptr\b|shared_ptr<|unique_ptr<)");
  for (std::sregex_iterator it(text.begin(), text.end(), container), end; it != end; ++it) {
    const auto arguments = template_arguments(text, static_cast<size_t>(it->position() + it->length()) - 1);
    if (arguments.empty() || !std::regex_search(arguments[0], pointer)) continue;
    const size_t without_comparator = (*it)[2] == "map" ? 2 : 1;
    if (arguments.size() <= without_comparator) found.push_back(it->str() + arguments[0]);
  }
  return found;
}

}  // namespace

TEST_CASE("arrows: a room includes only what it is linked to") {
  const Rooms arrows = declared_arrows();
  REQUIRE(arrows.size() >= 30);
  for (const auto& [room, allowed] : arrows) {
    for (const fs::path& file : sources_of(room)) {
      if (room_of(fs::relative(file, kRoot), arrows) != room) continue;
      for (const std::string& name : includes_of(file, '"')) {
        const std::string target = room_of(name, arrows);
        INFO(file.string() << " includes " << name);
        CHECK((target == room || allowed.contains(target)));
        // Also what is no room, as test/support: no program that is shipped has a part of its tests.
        CHECK((!name.starts_with("test/") || room.starts_with("test/")));
      }
    }
  }
}

TEST_CASE("arrows: no room is below itself, and none is too large for one reading") {
  for (const auto& arrow : declared_arrows()) CHECK_MESSAGE(!arrow.second.contains(arrow.first), arrow.first);
  std::map<std::string, size_t> sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot)) {
    const fs::path path = fs::relative(entry.path(), kRoot);
    if (path.begin()->string().starts_with("build") || path.begin()->string().starts_with(".")) continue;
    if (path.extension() == ".h" || path.extension() == ".cpp") ++sources[path.parent_path().string()];
  }
  for (const auto& folder : sources)
    CHECK_MESSAGE(folder.second <= 40, folder.first << " holds " << folder.second << " sources");
}

TEST_CASE("arrows: decisions know no clock and no thread and no log and no socket") {
  std::set<std::string> banned_headers = kOutside;
  banned_headers.insert("random");
  const std::regex banned_words(
      R"(\bnow\(\)|sleep_for|sleep_until|\brand\(|system_clock\(\)|getenv|std::cout|std::cerr)");
  for (const char* folder : {"api", "jobs", "mutators", "validators", "scheduler", "state", "reconcilers", "explain",
                             "engine", "manifests", "commands/moving/rules"}) {
    check_purity(folder, banned_headers, banned_words);
  }
}

TEST_CASE("arrows: nothing that decides goes by addresses") {
  // What is only looked up, never walked through.
  const std::set<std::string> found_by_address = {"scheduler/shape.h", "state/kept_bytes.h"};
  for (const char* folder : {"scheduler", "state", "engine", "reconcilers"}) {
    for (const fs::path& file : sources_of(folder)) {
      if (found_by_address.contains(fs::relative(file, kRoot).string())) continue;
      for (const std::string& what : orders_by_address(muster::test::read_file(file)))
        FAIL_CHECK(file.string() << " goes by addresses: " << what);
    }
  }
}

TEST_CASE("arrows: what goes by addresses is found and what has an order is not") {
  for (const char* line :
       {"std::set<QueueState*> a;", "std::map<const QueueState*, std::pair<int, int>> a;",
        "std::set<std::pair<Timestamp, WorkloadState*>> a;", "std::unordered_set<const Job*> a;",
        "std::unordered_map<WorkloadPtr, int> a;", "std::multimap<std::shared_ptr<const Job>, int> a;",
        "reinterpret_cast<uintptr_t>(&a)", "std::hash<const Job*>{}(a)", "std::less<Job*>()"}) {
    INFO(line);
    CHECK(orders_by_address(line).size() == 1);
  }
  for (const char* line : {"std::set<QueueState*, ByName> a;", "std::map<std::string, WorkloadState*> a;",
                           "std::map<const Job*, int, ByUid> a;", "std::set<std::pair<Timestamp, std::string>> a;",
                           "std::vector<WorkloadState*> a;", "std::map<std::string, std::vector<Job*>, std::less<>> a;",
                           "std::unordered_map<std::string, CohortPtr> a;"}) {
    INFO(line);
    CHECK(orders_by_address(line).empty());
  }
}

TEST_CASE("arrows: the simulation knows no time but its own and draws chance from its seed only") {
  check_purity("test/world", kOutside,
               std::regex(R"(_clock::now|sleep_for|sleep_until|\brand\(|random_device|system_clock\(\)|getenv|)"
                          R"(std::cout|std::cerr)"));
}

TEST_CASE("arrows: httplib and OpenSSL stay in few sources and out of headers") {
  int httplib_sources = 0, openssl_sources = 0;
  const Rooms rooms = declared_arrows();
  for (const auto& [room, allowed] : rooms) {
    for (const fs::path& file : sources_of(room)) {
      if (room_of(fs::relative(file, kRoot), rooms) != room) continue;
      const auto headers = includes_of(file, '<');
      const bool httplib = headers.contains("httplib.h");
      bool openssl = false;
      for (const std::string& name : headers) openssl |= name.starts_with("openssl/");
      INFO(file.string());
      if (httplib) CHECK(file.extension() == ".cpp");
      httplib_sources += httplib;
      openssl_sources += openssl && file.extension() == ".cpp";
    }
  }
  CHECK(httplib_sources <= 4);
  CHECK(openssl_sources <= 8);
}

}  // namespace arrows_test
