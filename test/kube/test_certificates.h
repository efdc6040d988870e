// Certificates for tests, made on the spot.
#pragma once

#include <memory>
#include <string>

namespace muster::kube::test {

struct IssuedCertificate {
  std::string certificate;  // PEM
  std::string key;          // PEM
};

// What a TLS server shows, and whose client certificates it asks for.
struct ServerIdentity {
  IssuedCertificate own;
  std::string client_authority;  // PEM; empty: does not ask
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name);
  ~TestAuthority();

  const std::string& pem() const { return pem_; }
  // `names` as OpenSSL writes them: "IP:127.0.0.1,DNS:localhost"; empty for none.
  // A negative lifetime issues one that has expired.
  IssuedCertificate issue(const std::string& common_name, const std::string& names, long lifetime_seconds = 3600) const;

 private:
  struct Keys;
  const std::unique_ptr<Keys> keys_;
  std::string pem_;
};

}  // namespace muster::kube::test
