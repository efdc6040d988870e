// The arrows of the house: which room includes which, read from the link lines in CMakeLists.txt
// and checked against the #include lines; and what a pure room must not touch. A room is a folder with
// a library, as api or api/codec; a folder without one belongs to the room around it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/arrows/include_lines.h"
#include "test/support/files.h"

namespace arrows_test {

namespace {

namespace fs = std::filesystem;
using muster::test::includes_of;
const fs::path kRoot = muster::test::source_tree();

using Rooms = std::map<std::string, std::set<std::string>>;

// What the link lines declare, by room.
struct Arrows {
  std::set<std::string> of_headers;  // DEPENDS
  std::set<std::string> of_sources;  // USES: of sources alone
};

std::map<std::string, Arrows> declared_arrows() {
  std::map<std::string, Arrows> rooms;
  const std::string text =
      muster::test::read_file(kRoot / "CMakeLists.txt") + muster::test::read_file(kRoot / "test/CMakeLists.txt");
  const std::regex line(R"(\nmuster_(?:library|rule_table)\(([\w/]+)([^)]*)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    Arrows& arrows = rooms[(*it)[1]];
    std::istringstream words((*it)[2].str());
    std::set<std::string>* listing = nullptr;
    for (std::string word; words >> word;) {
      if (word == "DEPENDS")
        listing = &arrows.of_headers;
      else if (word == "USES")
        listing = &arrows.of_sources;
      else if (word == "LINK" || word == "GENERATED" || word == "WITH")
        listing = nullptr;
      else if (listing != nullptr)
        listing->insert(word);
    }
  }
  return rooms;
}

// room -> the rooms below it, closed over the link lines.
Rooms rooms_below() {
  const auto declared = declared_arrows();
  Rooms closed;
  const std::function<void(const std::string&, std::set<std::string>&)> reach = [&](const std::string& from,
                                                                                    std::set<std::string>& seen) {
    for (const auto* arrows : {&declared.at(from).of_headers, &declared.at(from).of_sources}) {
      for (const std::string& to : *arrows) {
        if (seen.insert(to).second) reach(to, seen);
      }
    }
  };
  for (const auto& room : declared) reach(room.first, closed[room.first]);
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

std::string written(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

// "api/job" -> the modules that api/job.h and api/job.cpp include.
Rooms modules() {
  Rooms found;
  for (const auto& [room, below] : rooms_below()) {
    for (const fs::path& file : sources_of(room)) {
      auto& included = found[fs::relative(file, kRoot).replace_extension().string()];
      for (const std::string& name : includes_of(file, "\""))
        included.insert(fs::path(name).replace_extension().string());
    }
  }
  return found;
}

// The groups of modules that include each other, by name (Tarjan's strongly connected components).
std::vector<std::vector<std::string>> circles_of(const Rooms& graph) {
  std::map<std::string, std::pair<size_t, size_t>> marks;  // index, and the lowest index that is reached
  std::vector<std::string> open;
  std::vector<std::vector<std::string>> circles;
  const std::function<void(const std::string&)> visit = [&](const std::string& module) {
    const size_t index = marks.size();
    marks[module] = {index, index};
    open.push_back(module);
    const auto targets = graph.find(module);
    for (const std::string& target : targets == graph.end() ? std::set<std::string>() : targets->second) {
      const bool is_new = !marks.contains(target);
      if (is_new) visit(target);
      const bool is_open = is_new || std::ranges::find(open, target) != open.end();
      if (is_open) marks[module].second = std::min(marks[module].second, marks[target].second);
    }
    if (marks[module].second != index) return;
    const auto first = std::ranges::find(open, module);
    if (open.end() - first > 1) {
      circles.emplace_back(first, open.end());
      std::ranges::sort(circles.back());
    }
    open.erase(first, open.end());
  };
  for (const auto& module : graph) {
    if (!marks.contains(module.first)) visit(module.first);
  }
  std::ranges::sort(circles);
  return circles;
}

// What the outside world comes in by.
const std::set<std::string> kOutside = {"thread",   "mutex",        "condition_variable", "future",
                                        "atomic",   "fstream",      "httplib.h",          "ctime",
                                        "unistd.h", "sys/socket.h", "base/mutex.h",       "spdlog/spdlog.h"};

void check_purity(const std::string& folder, const std::set<std::string>& banned_headers,
                  const std::regex& banned_words) {
  for (const fs::path& file : sources_of(folder)) {
    INFO(file.string());
    for (const std::string& name : includes_of(file, "\"<")) {
      INFO("includes " << name);
      CHECK_FALSE(banned_headers.contains(name));
      CHECK_FALSE(name.starts_with("openssl/"));
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

TEST_CASE("arrows: what CMake declares of a room is what its files include") {
  const Rooms rooms = rooms_below();
  REQUIRE(rooms.size() >= 30);
  for (const auto& [room, declared] : declared_arrows()) {
    Arrows used;
    for (const fs::path& file : sources_of(room)) {
      if (room_of(fs::relative(file, kRoot), rooms) != room) continue;
      for (const std::string& name : includes_of(file, "\"")) {
        const std::string target = room_of(name, rooms);
        INFO(file.string() << " includes " << name);
        // Also what is no room, as test/support: no program that is shipped has a part of its tests.
        CHECK((!name.starts_with("test/") || room.starts_with("test/")));
        CHECK((!target.empty() || room.starts_with("test/")));
        if (target.empty() || target == room) continue;
        (file.extension() == ".h" ? used.of_headers : used.of_sources).insert(target);
      }
    }
    for (const std::string& target : used.of_headers) used.of_sources.erase(target);
    INFO(room);
    CHECK(written(declared.of_headers) == written(used.of_headers));
    CHECK(written(declared.of_sources) == written(used.of_sources));
  }
}

TEST_CASE("arrows: a header and its source are one module, and no modules go in a circle") {
  // Each is a class or a table whose parts are in several sources. This list only shrinks.
  const std::vector<std::string> known = {
      "api/codec/yaml api/codec/yaml_node",
      "api/config/configuration api/config/muster_configuration api/config/muster_setting_values "
      "api/config/muster_settings api/config/queue_settings api/config/rule_settings",
      "api/conversion/conversion api/conversion/conversion_fields",
      "api/meta/quantity api/meta/quantity_text",
      "commands/moving/rules/adoption commands/moving/rules/adoption_parts",
      "commands/simulate/expectations commands/simulate/report",
      "engine/recording/redaction engine/recording/redaction_parts",
      "explain/lists/queue_snapshot explain/lists/workload_state",
      "forecast/run forecast/runner",
      "forecast/scenario_build forecast/scenario_reader",
      "jobs/described/described_kind jobs/job_kind",
      "kinds/described_job kinds/kind_description kinds/kind_hook",
      "kube/transport/cluster_access kube/transport/kubeconfig",
      "manifests/catalog manifests/chart",
      "reconcilers/queues/cluster_queue reconcilers/queues/cohort reconcilers/queues/queue_status",
      "scheduler/flavor_assignment scheduler/order/pending_queue scheduler/order/workload_order "
      "scheduler/preemption/fair_sharing scheduler/preemption/preemption scheduler/preemption/preemption_search "
      "scheduler/preemption/protection scheduler/queue_state scheduler/shape scheduler/state scheduler/wake_conditions "
      "scheduler/workload_state",
  };
  std::vector<std::string> found;
  for (const std::vector<std::string>& circle : circles_of(modules())) {
    std::string names;
    for (const std::string& module : circle) names += (names.empty() ? "" : " ") + module;
    found.push_back(names);
  }
  for (const auto& names : found) CHECK_MESSAGE(std::find(known.begin(), known.end(), names) != known.end(), names);
  for (const auto& names : known) CHECK_MESSAGE(std::find(found.begin(), found.end(), names) != found.end(), names);
  CHECK(found == known);
}

TEST_CASE("arrows: a circle of modules is found") {
  CHECK(circles_of({{"a", {"b"}}, {"b", {"c"}}, {"c", {}}}).empty());
  CHECK(circles_of({{"a", {"b"}}, {"b", {"c", "d"}}, {"c", {"a"}}, {"d", {}}}) ==
        std::vector<std::vector<std::string>>{{"a", "b", "c"}});
}

TEST_CASE("arrows: no room is below itself, and none is too large for one reading") {
  for (const auto& arrow : rooms_below()) CHECK_MESSAGE(!arrow.second.contains(arrow.first), arrow.first);
  std::map<std::string, size_t> sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot)) {
    const fs::path path = fs::relative(entry.path(), kRoot);
    if (path.begin()->string().starts_with("build") || path.begin()->string().starts_with(".")) continue;
    if (path.extension() == ".h" || path.extension() == ".cpp") ++sources[path.parent_path().string()];
  }
  for (const auto& folder : sources)
    CHECK_MESSAGE(folder.second <= 40, folder.first << " holds " << folder.second << " sources");
}

TEST_CASE("arrows: the tests of each folder belong to a program") {
  std::set<std::string> programs;
  const std::string text = muster::test::read_file(kRoot / "test/CMakeLists.txt");
  const std::regex line(R"(muster_test\((\w+))");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) programs.insert((*it)[1]);
  std::set<std::string> left_out;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "test")) {
    if (!entry.path().filename().string().ends_with("_test.cpp")) continue;
    const std::string folder = fs::relative(entry.path(), kRoot / "test").begin()->string();
    if (!programs.contains(folder)) left_out.insert(folder);
  }
  for (const std::string& folder : left_out)
    CHECK_MESSAGE(false, "test/" << folder << " has no muster_test() in test/CMakeLists.txt");
  CHECK(programs.size() > 20);
}

TEST_CASE("arrows: decisions know no clock and no thread and no log and no socket") {
  std::set<std::string> banned_headers = kOutside;
  banned_headers.insert("random");
  const std::regex banned_words(
      R"(\bnow\(\)|sleep_for|sleep_until|\brand\(|system_clock\(\)|getenv|std::cout|std::cerr)");
  for (const char* folder : {"api", "kinds", "jobs", "mutators", "validators", "scheduler", "state", "reconcilers",
                             "explain", "engine", "manifests", "commands/moving/rules"}) {
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
  const Rooms rooms = rooms_below();
  for (const auto& [room, below] : rooms) {
    for (const fs::path& file : sources_of(room)) {
      if (room_of(fs::relative(file, kRoot), rooms) != room) continue;
      const auto headers = includes_of(file, "<");
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
