#include "api/meta/known_keys.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "test/support/vectors.h"

namespace known_keys_test {

using namespace muster;

namespace {

constexpr const char* kRooms[] = {"api",       "commands", "engine",     "explain", "jobs",
                                  "manifests", "mutators", "runtime",    "server",  "reconcilers",
                                  "scheduler", "forecast", "validators", "state"};

// Names in the domains that are no keys of labels or annotations: controllers, field managers, scheduling gates,
// finalizers, indexes, and the beginnings of names.
const std::set<std::string> kNoKeys = {
    "kueue.x-k8s.io/admission",
    "kueue.x-k8s.io/manager",
    "kueue.x-k8s.io/multikueue",
    "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    "kueue.x-k8s.io/multikueue-dispatcher-incremental",
    "kueue.x-k8s.io/provisioning-request",
    "kueue.x-k8s.io/resource-in-use",
    "kueue.x-k8s.io/topology",
    "kueue.x-k8s.io/workloadpriorityclass",
    "jobset.sigs.k8s.io/jobset-controller",
    "muster.batch/anything",  // in a comment
    "muster.batch/explain",
};

std::set<std::string> keys_in_sources() {
  static const std::regex kLiteral(
      "\"((?:kueue\\.x-k8s\\.io|(?:alpha\\.)?jobset\\.sigs\\.k8s\\.io|muster\\.batch)/"
      "[a-z][a-z-]*[a-z])\"");
  std::set<std::string> keys;
  const std::filesystem::path root(MUSTER_SOURCE_DIR);
  for (const char* room : kRooms) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      const std::string text = test::read_source_file(entry.path().lexically_relative(root).string());
      for (std::sregex_iterator found(text.begin(), text.end(), kLiteral), end; found != end; ++found)
        keys.insert((*found)[1].str());
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("known keys: each that a source names is in the table, once") {
  const std::set<std::string> known(known_keys().begin(), known_keys().end());
  CHECK(known.size() == known_keys().size());
  const std::set<std::string> named = keys_in_sources();
  CHECK(named.size() > 80);
  for (const std::string& key : named) {
    INFO(key);
    CHECK(known.contains(key) != kNoKeys.contains(key));
  }
}

TEST_CASE("known keys: none is a misspelt other one") {
  for (const std::string_view key : known_keys()) {
    INFO(std::string(key));
    CHECK_FALSE(can_be_misspelt(key));
    CHECK(nearest_known_key(key).empty());
  }
}

TEST_CASE("known keys: what differs by one or two letters is a known key") {
  struct Row {
    std::string key, meant;  // meant is empty: nothing is near
  };
  const Row rows[] = {
      {"kueue.x-k8s.io/queue-nam", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/queuename", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/qeueu-name", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/Queue-Name", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/priority-clas", "kueue.x-k8s.io/priority-class"},
      {"muster.batch/group-schedulling-timeout-seconds", "muster.batch/group-scheduling-timeout-seconds"},
      {"muster.batch/premption-protection", "muster.batch/preemption-protection"},
      {"alpha.jobset.sigs.k8s.io/exclusive-topologie", "alpha.jobset.sigs.k8s.io/exclusive-topology"},
      {"jobset.sigs.k8s.io/cordinator", "jobset.sigs.k8s.io/coordinator"},
      // The domain counts as well.
      {"kueue.k8s.io/queue-name", "kueue.x-k8s.io/queue-name"},
      {"keueu.x-k8s.io/queue-name", "kueue.x-k8s.io/queue-name"},
      {"kueu.x-k8s.io/queue-nam", "kueue.x-k8s.io/queue-name"},
      {"kueu.x-k8s.io/queue-na", ""},
      {"muster.bath/group-scheduling", "muster.batch/group-scheduling"},
      // The nearest of several.
      {"kueue.x-k8s.io/podset-slice-siz", "kueue.x-k8s.io/podset-slice-size"},
      {"jobset.sigs.k8s.io/jobs-index", "jobset.sigs.k8s.io/job-index"},
      // Too far, or something else.
      {"kueue.x-k8s.io/queue", ""},
      {"kueue.x-k8s.io/team-red", ""},
      {"kueue.x-k8s.io/", ""},
      {"kueue.x-k8s.io/queue-name/", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io", ""},
      {"queue-nam", ""},
      {"/queue-name", ""},
      {"", ""},
      {"example.com/queue-nam", ""},
      {"app.kubernetes.io/name", ""},
      {"simulate.muster.batch/run-time", ""},
      // Of a name with 3 letters, one.
      {"kueue.x-k8s.io/tax", "kueue.x-k8s.io/tas"},
      {"kueue.x-k8s.io/max", ""},
      {"kueue.x-k8s.io/" + std::string(300, 'a'), ""},
      {std::string(300, 'a') + "/queue-name", ""},
      {std::string(300, '/'), ""},
  };
  for (const Row& row : rows) {
    INFO(row.key);
    CHECK(std::string(nearest_known_key(row.key)) == row.meant);
  }
}

TEST_CASE("known keys: each letter of each key can be missing, doubled or swapped with the next one") {
  const auto is_known = [](std::string_view key) {
    return std::find(known_keys().begin(), known_keys().end(), key) != known_keys().end();
  };
  for (const std::string_view known : known_keys()) {
    for (size_t i = 0; i < known.size(); ++i) {
      const std::string key(known);
      std::string missing = key, doubled = key, swapped = key;
      missing.erase(i, 1);
      doubled.insert(i, 1, key[i]);
      if (i + 1 < key.size()) std::swap(swapped[i], swapped[i + 1]);
      for (const std::string& misspelt : {missing, doubled, swapped}) {
        if (is_known(misspelt) || key[i] == '/' || (i + 1 < key.size() && key[i + 1] == '/')) continue;
        INFO(misspelt);
        CHECK_FALSE(nearest_known_key(misspelt).empty());
      }
    }
  }
}

}  // namespace known_keys_test
