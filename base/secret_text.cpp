#include "base/secret_text.h"

#include <openssl/crypto.h>

namespace muster {

void cleanse(void* bytes, size_t size) {
  OPENSSL_cleanse(bytes, size);
}

void cleanse(std::string& text) {
  text.resize(text.capacity());
  cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace muster
