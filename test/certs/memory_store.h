// A CertificateStore in memory that behaves like one Secret: writers race by
// version, and a test can break it.
#pragma once

#include <string>

#include "certs/store.h"

namespace muster::test {

class MemoryStore : public certs::CertificateStore {
 public:
  Result<certs::StoredCertificates> read() override {
    if (!reachable) return fail("connection refused");
    ++reads;
    return certs::StoredCertificates{state, version()};
  }
  Result<certs::StoreOutcome> write(const certs::CertificateState& next, const std::string& expected_version) override {
    if (!reachable || !writable) return fail("connection refused");
    if (lose_race_with != nullptr) {
      state = *lose_race_with;
      ++generation;
      lose_race_with = nullptr;
    }
    if (expected_version != version()) {
      ++conflicts;
      return certs::StoreOutcome::kConflict;
    }
    state = next;
    ++generation;
    ++writes;
    return certs::StoreOutcome::kWritten;
  }
  std::string version() const { return generation == 0 ? "" : std::to_string(generation); }

  certs::CertificateState state;
  int generation = 0;
  int reads = 0, writes = 0, conflicts = 0;
  bool reachable = true, writable = true;
  // Written by "another replica" just before the next write.
  const certs::CertificateState* lose_race_with = nullptr;
};

}  // namespace muster::test
