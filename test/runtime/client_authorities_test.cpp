#include "runtime/certificates/client_authorities.h"

#include <doctest/doctest.h>

#include <functional>

#include "certs/authority.h"
#include "test/support/temporary_folder.h"

namespace client_authorities_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;
using muster::test::TemporaryFolder;

namespace {

std::string authority(const std::string& name) {
  const TimePoint now = std::chrono::system_clock::now();
  const auto made = certs::make_authority(name, {now, now + 24h});
  REQUIRE(made.ok());
  return made->certificate;
}

// Within less than kDirectoryPoll, so that the change itself was seen.
bool soon(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + certs::kDirectoryPoll - 2s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// As the kubelet does it: a new directory, then the link ..data is swapped.
void swap_in(const TemporaryFolder& mount, const std::string& name, const std::string& text) {
  std::filesystem::create_directory(mount.path() / name);
  mount.write(name + "/ca.crt", text);
  std::filesystem::create_directory_symlink(name, mount.path() / "..data_tmp");
  std::filesystem::rename(mount.path() / "..data_tmp", mount.path() / "..data");
}

}  // namespace

TEST_CASE("authorities of clients: a file that cannot be used is an error at the start, which names the setting") {
  const TemporaryFolder directory;
  const std::string path = (directory.path() / "ca.crt").string();
  const auto missing = ClientAuthoritiesFile::open(path, {});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("webhookClientCAFile: there is no file " + path) == 0);
  directory.write("ca.crt", "no certificate");
  const auto empty = ClientAuthoritiesFile::open(path, {});
  REQUIRE_FALSE(empty.ok());
  CHECK(empty.error().message.find("webhookClientCAFile: " + path + ": there is no PEM certificate") == 0);
  const auto folder = ClientAuthoritiesFile::open(directory.path().string(), {});
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.error().message.find("webhookClientCAFile: ") == 0);
}

TEST_CASE("authorities of clients: a changed file is taken over, and one that is damaged changes nothing") {
  const TemporaryFolder mount;
  swap_in(mount, "..one", authority("one"));
  std::filesystem::create_symlink(std::filesystem::path("..data") / "ca.crt", mount.path() / "ca.crt");
  const auto file = ClientAuthoritiesFile::open((mount.path() / "ca.crt").string(), {});
  REQUIRE(file.ok());
  const auto clients = (*file)->clients();
  const auto first = clients->current();

  swap_in(mount, "..two", authority("two"));
  REQUIRE(soon([&] { return clients->current() != first; }));
  const auto second = clients->current();

  swap_in(mount, "..three", "half a certif");
  CHECK(clients->current() == second);
  swap_in(mount, "..four", authority("four"));
  CHECK(soon([&] { return clients->current() != second; }));
}

}  // namespace client_authorities_test
