#include "certs/directory_store.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "test/support/temporary_folder.h"

namespace directory_store_test {

using namespace muster;
using namespace muster::certs;
using muster::test::TemporaryFolder;

namespace {

// Texts only: the store does not look inside. All fields of one state end alike, so that a mixture of two states is
// visible.
CertificateState state_of(const std::string& mark, bool renewing = false) {
  CertificateState made{{"ca " + mark, "ca key " + mark}, {}, "", {"leaf " + mark, "leaf key " + mark}};
  if (renewing) {
    made.next = {"next " + mark, "next key " + mark};
    made.previous = "previous " + mark;
  }
  return made;
}

unsigned mode(const std::filesystem::path& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

StoreOutcome written(DirectoryStore& store, const CertificateState& what, const std::string& version) {
  const auto outcome = store.write(what, version);
  REQUIRE(outcome.ok());
  return *outcome;
}

}  // namespace

TEST_CASE("an absent or empty directory holds nothing") {
  const TemporaryFolder directory;
  for (const auto& path : {directory.path(), directory.path() / "absent"}) {
    const auto read = DirectoryStore(path).read();
    REQUIRE(read.ok());
    CHECK(read->state == CertificateState{});
    CHECK(read->version.empty());
  }
}

TEST_CASE("what is written is read back, under names that users know and with keys for the owner only") {
  const TemporaryFolder directory;
  DirectoryStore store(directory.path() / "made" / "here");
  REQUIRE(written(store, state_of("1", true), "") == StoreOutcome::kWritten);
  const auto read = store.read();
  REQUIRE(read.ok());
  CHECK(read->state == state_of("1", true));
  const auto made = directory.path() / "made" / "here";
  CHECK(directory.read("made/here/tls.crt") == "leaf 1");
  CHECK(directory.read("made/here/ca.crt") == "ca 1");
  for (const char* key : {"tls.key", "ca.key", "next-ca.key"}) CHECK(mode(made / key) == 0600);
  CHECK(mode(made) == 0700);

  REQUIRE(written(store, state_of("2"), read->version) == StoreOutcome::kWritten);
  CHECK(store.read()->state == state_of("2"));
  CHECK_FALSE(std::filesystem::exists(made / "next-ca.crt"));
}

TEST_CASE("a write that expects another version conflicts and changes nothing") {
  const TemporaryFolder directory;
  DirectoryStore first(directory.path());
  DirectoryStore second(directory.path());
  REQUIRE(written(first, state_of("1"), "") == StoreOutcome::kWritten);
  CHECK(written(second, state_of("2"), "") == StoreOutcome::kConflict);
  const std::string version = second.read()->version;
  REQUIRE(written(first, state_of("3"), version) == StoreOutcome::kWritten);
  CHECK(written(second, state_of("2"), version) == StoreOutcome::kConflict);
  CHECK(first.read()->state == state_of("3"));
}

TEST_CASE("the files of a directory filled by hand are read and then replaced") {
  const TemporaryFolder directory;
  directory.write("tls.crt", "mine");
  directory.write("ca.key", "secret");
  DirectoryStore store(directory.path());
  const auto read = store.read();
  REQUIRE(read.ok());
  CHECK(read->state.leaf.certificate == "mine");
  CHECK(read->state.authority.key == "secret");
  REQUIRE(written(store, state_of("1"), read->version) == StoreOutcome::kWritten);
  CHECK(store.read()->state == state_of("1"));
}

TEST_CASE("old states do not pile up and a foreign link is not followed") {
  const TemporaryFolder directory;
  const TemporaryFolder elsewhere;
  elsewhere.write("tls.crt", "theirs");
  std::filesystem::create_directory_symlink(elsewhere.path(), directory.path() / "..data");
  DirectoryStore store(directory.path());
  for (int i = 0; i < 5; ++i) {
    REQUIRE(written(store, state_of(std::to_string(i)), store.read()->version) == StoreOutcome::kWritten);
  }
  CHECK(elsewhere.read("tls.crt") == "theirs");
  int states = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().filename().string().starts_with("..state_")) ++states;
  }
  CHECK(states == 1);
}

TEST_CASE("a directory that cannot be written is an error that names it") {
  const TemporaryFolder directory;
  directory.write("file", "");
  DirectoryStore store(directory.path() / "file");
  const auto outcome = store.write(state_of("1"), "");
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().message.find((directory.path() / "file").string()) != std::string::npos);
}

TEST_CASE("a reader beside writers never sees half of two states and no write is lost") {
  const TemporaryFolder directory;
  constexpr int kWrites = 60;
  std::atomic<int> writers{2};
  std::atomic<int> won{0};
  const auto write_all = [&](const std::string& name) {
    DirectoryStore store(directory.path());
    for (int i = 0; i < kWrites;) {
      const auto read = store.read();
      if (!read) break;
      const auto outcome = store.write(state_of(name + std::to_string(i), i % 2 == 1), read->version);
      if (!outcome) break;
      if (*outcome == StoreOutcome::kConflict) continue;
      ++won;
      ++i;
    }
    --writers;
  };
  std::thread one(write_all, "a");
  std::thread two(write_all, "b");
  DirectoryStore store(directory.path());
  int mixed = 0;
  int failed = 0;
  while (writers > 0) {
    const auto read = store.read();
    if (!read)
      ++failed;
    else if (!read->version.empty()) {
      const std::string mark = read->state.leaf.certificate.substr(5);
      if (read->state != state_of(mark) && read->state != state_of(mark, true)) ++mixed;
    }
  }
  one.join();
  two.join();
  CHECK(failed == 0);
  CHECK(mixed == 0);
  CHECK(won == 2 * kWrites);
}

}  // namespace directory_store_test
