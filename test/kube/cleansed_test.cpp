// What is left of a client's private key in the memory of the process when it is not needed any more.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "kube/transport/credentials.h"
#include "test/kube/test_certificates.h"
#include "test/kube/virtual_time.h"
#include "test/support/memory_search.h"
#include "test/support/temporary_folder.h"

namespace muster::kube::test::cleansed_test {
namespace {

using muster::test::copies_in_memory;
using muster::test::Masked;
using muster::test::TemporaryFolder;

// The test's own text of the key is overwritten before it looks.
struct ClientCertificate {
  std::string certificate;
  SecretText key;
};

ClientCertificate issue() {
  const TestAuthority authority("ca");
  auto own = authority.issue("system:client", "");
  ClientCertificate issued{own.certificate, own.key};
  cleanse(own.key);
  return issued;
}

// A stream would keep a copy.
void write_key(const std::string& path, const SecretText& key) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  CHECK(::write(file, key.view().data(), key.size()) == static_cast<ssize_t>(key.size()));
  close(file);
}

}  // namespace

TEST_CASE("nothing is left of a client's key when the credentials have gone") {
  for (const bool by_file : {true, false}) {
    CAPTURE(by_file);
    const TemporaryFolder folder;
    std::optional<Masked> key;
    {
      ClusterAccess access;
      {
        const ClientCertificate own = issue();
        key.emplace(own.key);
        access.client_certificate.data = own.certificate;
        if (by_file) {
          access.client_key.path = folder / "key";
          write_key(access.client_key.path, own.key);
        } else {
          access.client_key.data = own.key;
        }
      }
      VirtualTime time;
      Credentials credentials(std::move(access), time, [](const std::string&) {});
      const auto identity = credentials.current();
      REQUIRE_MESSAGE(identity.ok(), identity.error().message);
      CHECK(copies_in_memory(*key) > 0);
    }
    CHECK(copies_in_memory(*key) == 0);
  }
}

}  // namespace muster::kube::test::cleansed_test
