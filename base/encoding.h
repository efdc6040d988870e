// Base64 and digests, by OpenSSL: pure functions of bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// RFC 4648 with padding, no line breaks.
std::string base64_encode(std::string_view bytes);
// Refuses anything but canonical base64; white space is not skipped.
Result<std::string> base64_decode(std::string_view text);

// Lower-case hex of the digest. SHA-1 only where Kubernetes' names need it.
std::string sha1_hex(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
// HMAC-SHA-256 (RFC 2104), in lower-case hex.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

}  // namespace muster
