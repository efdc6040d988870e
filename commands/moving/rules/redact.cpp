#include "commands/moving/rules/redact.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr const char* kRemoved = "<removed>";

void redact(json& value) {
  if (value.is_array()) {
    for (json& item : value) redact(item);
    return;
  }
  if (!value.is_object()) return;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (it.key() == "env" && it->is_array()) {
      for (json& variable : *it) {
        if (variable.is_object() && variable.contains("value")) variable["value"] = kRemoved;
      }
    } else if (it.key() == "caBundle") {
      *it = kRemoved;
    } else {
      redact(*it);
    }
  }
  if (value.contains("annotations") && value["annotations"].is_object())
    value["annotations"].erase("kubectl.kubernetes.io/last-applied-configuration");
  value.erase("managedFields");
}

constexpr size_t kBlock = 512;

void put(std::string& header, size_t at, size_t size, const std::string& text) {
  header.replace(at, std::min(size, text.size()), text.substr(0, size));
}

std::string octal(size_t number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*zo", digits, number);
  return text;
}

}  // namespace

json redacted(json object) {
  if (string_at(object, {"kind"}) == "Secret")
    return {{"kind", "Secret"},
            {"metadata",
             {{"name", string_at(object, {"metadata", "name"})},
              {"namespace", string_at(object, {"metadata", "namespace"})}}}};
  redact(object);
  return object;
}

std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string tar;
  for (const auto& [name, text] : files) {
    std::string header(kBlock, '\0');
    put(header, 0, 99, name);
    put(header, 100, 8, "0000600");
    put(header, 108, 8, "0000000");
    put(header, 116, 8, "0000000");
    put(header, 124, 12, octal(text.size(), 11));
    put(header, 136, 12, "00000000000");
    header.replace(148, 8, "        ");  // the checksum counts as spaces
    header[156] = '0';
    put(header, 257, 6, "ustar");
    header.replace(263, 2, "00");
    size_t sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 6, octal(sum, 6));
    header[154] = '\0';
    tar += header + text;
    tar.append((kBlock - text.size() % kBlock) % kBlock, '\0');
  }
  return tar.append(2 * kBlock, '\0');
}

}  // namespace muster::commands
