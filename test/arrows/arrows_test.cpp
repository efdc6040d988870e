// The arrows of the house: which room may include which, read from the link lines in CMakeLists.txt
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

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MUSTER_SOURCE_DIR;

using Rooms = std::map<std::string, std::set<std::string>>;

// room -> rooms it may include, closed over the link lines.
Rooms declared_arrows() {
  std::map<std::string, std::set<std::string>> direct;
  const std::string text = muster::test::read_file(kRoot / "CMakeLists.txt");
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

TEST_CASE("arrows: the simulation knows no time but its own and draws chance from its seed only") {
  check_purity("simulation", kOutside,
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
