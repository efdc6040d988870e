// What the TLS server needs, complete and checked: the key fits the chain.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/secret_text.h"

namespace muster::certs {

struct ServingCertificate {
  std::string chain;   // PEM, leaf first
  SecretText key;      // PEM
  std::string bundle;  // PEM, for the webhook configurations; empty when another program injects it
  TimePoint expires;   // of the leaf

  bool operator==(const ServingCertificate&) const = default;
};

}  // namespace muster::certs
