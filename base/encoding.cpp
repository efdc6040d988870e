#include "base/encoding.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <vector>

namespace muster {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex_of(const Digest& digest, unsigned int size) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (unsigned int i = 0; i < size; ++i) {
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 15];
  }
  return text;
}

std::string digest_hex(const EVP_MD* algorithm, std::string_view bytes) {
  Digest digest;
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm, nullptr);
  return hex_of(digest, size);
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.empty()) return std::string();
  if (text.size() % 4 != 0) return fail("base64 must be a multiple of four characters long");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  if (digits.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") !=
      std::string_view::npos) {
    return fail("base64 has a character outside its alphabet");
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return fail("not base64");
  bytes.resize(static_cast<size_t>(size) - padding);
  return bytes;
}

std::string sha1_hex(std::string_view bytes) {
  return digest_hex(EVP_sha1(), bytes);
}
std::string sha256_hex(std::string_view bytes) {
  return digest_hex(EVP_sha256(), bytes);
}
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  Digest digest;
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
       bytes.size(), digest.data(), &size);
  return hex_of(digest, size);
}

}  // namespace muster
