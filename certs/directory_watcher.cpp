#include "certs/directory_watcher.h"

#include <algorithm>

#include "certs/authority.h"
#include "certs/files.h"

namespace muster::certs {
namespace {

Result<ServingCertificate> read_set(const std::filesystem::path& directory, TimePoint now) {
  const auto chain = read_file_if_present(directory / "tls.crt");
  const auto key = read_file_if_present(directory / "tls.key");
  const auto bundle = read_file_if_present(directory / "ca.crt");
  for (const auto* file : {&chain, &key, &bundle}) {
    if (!*file) return fail_with(file->error());
  }
  if (!*chain || !*key) {
    return fail(directory.string() + " has no " + (*chain ? "tls.key" : "tls.crt") +
                "; mount a Secret of type kubernetes.io/tls there");
  }
  ServingCertificate set{std::string((*chain)->view()), **key, std::string(bundle->value_or("").view()), {}};
  if (auto fits = check_key({set.chain, set.key}); !fits) {
    return fail("tls.crt and tls.key in " + directory.string() + " cannot be served: " + fits.error().message);
  }
  const auto facts = read_certificate(set.chain);
  if (!facts) return fail_with(facts.error());
  set.expires = facts->not_after;
  if (now >= set.expires) return fail("tls.crt in " + directory.string() + " has expired; its issuer must renew it");
  if (set.bundle.empty()) return set;
  const TimePoint at = std::max(now, facts->not_before);
  if (auto trusted = verify_chain(set.chain, set.bundle, at); !trusted) {
    return fail("ca.crt in " + directory.string() + " has not signed tls.crt (" + trusted.error().message +
                "); remove ca.crt if another component injects the CA bundle");
  }
  return set;
}

}  // namespace

DirectoryWatcher::Reading DirectoryWatcher::read(TimePoint now) {
  // First watch, then read: a change between the two is an event of the next wait.
  events_.watch();
  auto set = read_set(events_.directory(), now);
  if (!set) return {std::nullopt, set.error().message};
  if (current_ == *set) return {};
  current_ = std::move(set).value();
  return {current_, ""};
}

}  // namespace muster::certs
