// The certificate state as files in a directory: for muster outside a cluster, and
// for several processes on one machine that share a directory.
//
// The files (tls.crt, tls.key, ca.crt, ca.key and during a renewal next-ca.crt,
// next-ca.key, previous-ca.crt; plus bundle.crt, what clients must trust) are symbolic
// links into `..data`, itself a link to a directory of one write. A write fills a new
// directory and swaps that one link by rename(2), so a reader that resolves `..data` once
// sees one state, never half of two; it is the layout of a mounted Secret, so that
// DirectoryWatcher can follow it. Keys have mode 0600, directories 0700. A missing
// directory is created.
#pragma once

#include <filesystem>

#include "certs/store.h"

namespace muster::certs {

// Writers in several processes exclude each other by flock(2) on the file `.lock`.
class DirectoryStore : public CertificateStore {
 public:
  explicit DirectoryStore(std::filesystem::path directory);

  Result<StoredCertificates> read() override;
  Result<StoreOutcome> write(const CertificateState& state, const std::string& expected_version) override;

 private:
  const std::filesystem::path directory_;
};

}  // namespace muster::certs
