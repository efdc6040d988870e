#include "runtime/version.h"

#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

namespace muster::runtime {

const std::string_view kCommit = MUSTER_COMMIT;

std::string version_text() {
  std::string text = "muster " + std::string(kVersion) + " (" + std::string(kCommit) + ")\n";
  text += std::string(OpenSSL_version(OPENSSL_VERSION)) + "\n";
  text += "nlohmann_json " + std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." +
          std::to_string(NLOHMANN_JSON_VERSION_MINOR) + "." + std::to_string(NLOHMANN_JSON_VERSION_PATCH) + "\n";
  text += "spdlog " + std::to_string(SPDLOG_VER_MAJOR) + "." + std::to_string(SPDLOG_VER_MINOR) + "." +
          std::to_string(SPDLOG_VER_PATCH) + "\n";
  return text + "CLI11 " CLI11_VERSION "\n";
}

}  // namespace muster::runtime
