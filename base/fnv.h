// The hash FNV-1a: short, the same on every machine, and so fit for what must be the same in every run. Not for keys
// that an attacker can choose so that they collide.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

inline constexpr uint64_t kFnv64 = 14'695'981'039'346'656'037U;
inline constexpr uint32_t kFnv32 = 2'166'136'261U;

// `hash`: of what comes before the text.
constexpr uint64_t fnv1a_64(std::string_view text, uint64_t hash = kFnv64) {
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1'099'511'628'211U;
  return hash;
}
constexpr uint32_t fnv1a_32(std::string_view text, uint32_t hash = kFnv32) {
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16'777'619U;
  return hash;
}

}  // namespace muster
