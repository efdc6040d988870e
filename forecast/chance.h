// Chance that depends on a seed and nothing else: the same numbers on every machine and with every compiler, which the
// distributions of the standard library do not promise.
#pragma once

#include <cmath>
#include <cstdint>

namespace muster::forecast {

class Chance {
 public:
  explicit Chance(uint64_t seed, uint64_t stream = 0) : state_(seed * 0x9E3779B97F4A7C15ULL ^ mixed(stream + 1)) {}

  // SplitMix64 (Steele, Lea, Flood, 2014).
  uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15ULL); }
  // From 0 to below 1.
  double share() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // With this mean.
  double exponential(double mean) { return -mean * std::log1p(-share()); }
  // Of mean 0 and deviation 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(exponential(2));
    return radius * std::cos(6.283185307179586 * share());
  }

 private:
  static uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
  }

  uint64_t state_;
};

}  // namespace muster::forecast
