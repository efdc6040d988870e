// What is left of private keys in the memory of the process when they are not needed any more.
#include <doctest/doctest.h>

#include "certs/directory_store.h"
#include "certs/directory_watcher.h"
#include "certs/manager.h"
#include "test/support/memory_search.h"
#include "test/support/temporary_folder.h"

namespace cleansed_test {

using namespace muster;
using namespace muster::certs;
using namespace std::chrono_literals;
using muster::test::copies_in_memory;
using muster::test::Masked;
using muster::test::TemporaryFolder;

namespace {

const Now kStart{TimePoint{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)}, MonotonicTime{}};
const CertificateSettings kSettings{{{"muster.svc"}, {}}, {}, true};

Now at(Duration later) {
  return {kStart.wall + later, kStart.monotonic + later};
}

}  // namespace

TEST_CASE("keys: nothing is left of those that a renewal has replaced, nor of any at the end") {
  const TemporaryFolder directory;
  std::optional<Masked> leaf, authority, next_leaf;
  {
    DirectoryStore store(directory.path());
    CertificateManager manager(store, kSettings, [](const ServingCertificate&) {});
    REQUIRE(manager.tick(kStart).problem == "");
    {
      const auto stored = store.read();
      REQUIRE(stored.ok());
      leaf.emplace(stored->state.leaf.key);
      authority.emplace(stored->state.authority.key);
    }
    // The manager has them: the search finds what there is.
    CHECK(copies_in_memory(*leaf) > 0);
    CHECK(copies_in_memory(*authority) > 0);

    REQUIRE(manager.tick(at(24h * 70)).did != "");
    next_leaf.emplace(manager.current()->key);
    CHECK(copies_in_memory(*next_leaf) > 0);
    CHECK(copies_in_memory(*leaf) == 0);
  }
  CHECK(copies_in_memory(*next_leaf) == 0);
  CHECK(copies_in_memory(*authority) == 0);
}

TEST_CASE("keys: nothing is left of those of somebody else's directory") {
  const TemporaryFolder directory;
  std::optional<Masked> key;
  DirectoryStore store(directory.path());
  {
    CertificateManager manager(store, kSettings, [](const ServingCertificate&) {});
    REQUIRE(manager.tick(kStart).problem == "");
  }
  {
    DirectoryWatcher watcher(directory.path());
    const auto reading = watcher.read(kStart.wall);
    REQUIRE_MESSAGE(reading.changed.has_value(), reading.problem);
    key.emplace(reading.changed->key);
    CHECK(copies_in_memory(*key) > 0);
  }
  CHECK(copies_in_memory(*key) == 0);
}

TEST_CASE("keys: nothing is left of one that was made and dropped") {
  std::optional<Masked> key;
  {
    const auto made = make_authority("muster", {kStart.wall, kStart.wall + 24h});
    REQUIRE(made.ok());
    key.emplace(made->key);
    CHECK(copies_in_memory(*key) > 0);
    REQUIRE(check_key(*made).ok());
  }
  CHECK(copies_in_memory(*key) == 0);
}

}  // namespace cleansed_test
