#include "certs/directory_watcher.h"

#include <doctest/doctest.h>

#include <thread>

#include "certs/authority.h"
#include "test/support/temporary_folder.h"

namespace directory_watcher_test {

using namespace muster;
using namespace muster::certs;
using namespace std::chrono_literals;
using muster::test::TemporaryFolder;

namespace {

const TimePoint kNow{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};

struct Issued {
  KeyPair ca, leaf;
};

Issued issue(Duration life = 24h) {
  const auto ca = make_authority("external", {kNow, kNow + 48h});
  REQUIRE(ca.ok());
  const auto leaf = make_leaf(*ca, {{"gate.svc"}, {}}, {kNow, kNow + life});
  REQUIRE(leaf.ok());
  return {*ca, *leaf};
}

std::string text_of(const SecretText& key) {
  return std::string(key.view());
}

// As the kubelet does it: a new directory, then the link ..data is swapped.
void swap_in(const TemporaryFolder& mount, const std::string& name, const Issued& issued) {
  std::filesystem::create_directory(mount.path() / name);
  mount.write(name + "/tls.crt", issued.leaf.certificate);
  mount.write(name + "/tls.key", text_of(issued.leaf.key));
  mount.write(name + "/ca.crt", issued.ca.certificate);
  std::filesystem::create_directory_symlink(name, mount.path() / "..data_tmp");
  std::filesystem::rename(mount.path() / "..data_tmp", mount.path() / "..data");
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    if (std::filesystem::is_symlink(mount.path() / file)) continue;
    std::filesystem::create_symlink(std::filesystem::path("..data") / file, mount.path() / file);
  }
}

}  // namespace

TEST_CASE("a mounted Secret is taken over and its renewal too") {
  const TemporaryFolder mount;
  const Issued first = issue(12h);
  swap_in(mount, "..2026_01", first);
  DirectoryWatcher watcher(mount.path());
  const auto reading = watcher.read(kNow);
  CHECK(reading.problem.empty());
  REQUIRE(reading.changed.has_value());
  CHECK(reading.changed->chain == first.leaf.certificate);
  CHECK(reading.changed->bundle == first.ca.certificate);
  CHECK(reading.changed->expires == kNow + 12h);
  CHECK_FALSE(watcher.read(kNow).changed.has_value());

  const Issued second = issue();
  swap_in(mount, "..2026_02", second);
  const auto renewed = watcher.read(kNow);
  REQUIRE(renewed.changed.has_value());
  CHECK(renewed.changed->key == second.leaf.key);
}

TEST_CASE("sets of files that are not whole are not served and what was served stays") {
  const Issued good = issue();
  const Issued other = issue();
  struct Row {
    std::string name;
    std::string file;
    std::string text;
    std::string problem;
  };
  const Row rows[] = {
      {"the certificate is new and the key still old", "tls.crt", other.leaf.certificate, "does not belong"},
      {"the key is new and the certificate still old", "tls.key", text_of(other.leaf.key), "does not belong"},
      {"the certificate is written half", "tls.crt", good.leaf.certificate.substr(0, 200), "cannot be served"},
      {"the key is empty", "tls.key", "", "unreadable"},
      {"the CA is another one", "ca.crt", other.ca.certificate, "has not signed"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const TemporaryFolder directory;
    directory.write("tls.crt", good.leaf.certificate);
    directory.write("tls.key", text_of(good.leaf.key));
    directory.write("ca.crt", good.ca.certificate);
    DirectoryWatcher watcher(directory.path());
    REQUIRE(watcher.read(kNow).changed.has_value());
    const auto served = watcher.current();
    directory.write(row.file, row.text);
    const auto reading = watcher.read(kNow);
    CHECK_FALSE(reading.changed.has_value());
    INFO(reading.problem);
    CHECK(reading.problem.find(row.problem) != std::string::npos);
    CHECK(watcher.current() == served);
  }
}

TEST_CASE("an empty directory and an expired certificate are problems that say what to do") {
  const TemporaryFolder directory;
  DirectoryWatcher watcher(directory.path());
  CHECK(watcher.read(kNow).problem.find("mount a Secret") != std::string::npos);
  const Issued issued = issue(1h);
  directory.write("tls.crt", issued.leaf.certificate);
  directory.write("tls.key", text_of(issued.leaf.key));
  CHECK(watcher.read(kNow + 1h).problem.find("has expired") != std::string::npos);
  CHECK_FALSE(watcher.current().has_value());
}

TEST_CASE("without a CA the bundle is empty, since somebody else injects it") {
  const TemporaryFolder directory;
  const Issued issued = issue();
  directory.write("tls.crt", issued.leaf.certificate);
  directory.write("tls.key", text_of(issued.leaf.key));
  DirectoryWatcher watcher(directory.path());
  const auto reading = watcher.read(kNow);
  REQUIRE(reading.changed.has_value());
  CHECK(reading.changed->bundle.empty());
}

TEST_CASE("a change ends the wait, also in a directory that appears later") {
  const TemporaryFolder root;
  const auto late = root.path() / "late";
  DirectoryWatcher watcher(late);
  CHECK_FALSE(watcher.read(kNow).problem.empty());
  std::filesystem::create_directory(late);
  CHECK_FALSE(watcher.read(kNow).problem.empty());  // watches it from now on

  const auto begin = std::chrono::steady_clock::now();
  const Issued issued = issue();
  std::thread writer([&] {
    root.write("late/tls.crt", issued.leaf.certificate);
    root.write("late/tls.key", text_of(issued.leaf.key));
  });
  while (!watcher.current() && std::chrono::steady_clock::now() - begin < 9s) {
    watcher.wait();
    watcher.read(kNow);
  }
  writer.join();
  CHECK(watcher.current().has_value());
}

TEST_CASE("wake ends a wait that has begun and one that has not") {
  const TemporaryFolder directory;
  DirectoryWatcher watcher(directory.path());
  const auto begin = std::chrono::steady_clock::now();
  watcher.wake();
  watcher.wait();
  std::thread other([&] { watcher.wake(); });
  watcher.wait();
  other.join();
  CHECK(std::chrono::steady_clock::now() - begin < kDirectoryPoll);
}

TEST_CASE("the watcher writes nothing") {
  const TemporaryFolder mount;
  swap_in(mount, "..2026_01", issue());
  const auto count = [&] {
    return std::distance(std::filesystem::recursive_directory_iterator(mount.path()),
                         std::filesystem::recursive_directory_iterator());
  };
  const auto before = count();
  const auto stamp = std::filesystem::last_write_time(mount.path());
  DirectoryWatcher watcher(mount.path());
  watcher.read(kNow);
  watcher.wait(1ms);
  CHECK(count() == before);
  CHECK(std::filesystem::last_write_time(mount.path()) == stamp);
}

}  // namespace directory_watcher_test
