// Kueue's feature gates as values: the name of a gate that does not exist cannot compile.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace muster {

// Ordered by name. api/config/feature_gates.h says what each of them is.
enum class Gate : uint8_t {
#define GATE(name, ...) k##name,
#include "api/config/feature_gate_table.inc"
#undef GATE
};

// Which gates are on.
class FeatureGates {
 public:
  // Gates that are not in the list have their default.
  FeatureGates(std::initializer_list<std::pair<Gate, bool>> values = {});

  bool enabled(Gate gate) const { return on_[static_cast<size_t>(gate)]; }
  void set(Gate gate, bool on) { on_[static_cast<size_t>(gate)] = on; }

 private:
  std::bitset<size_t{UINT8_MAX} + 1> on_;  // by the value of the gate
};

}  // namespace muster
