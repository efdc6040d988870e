#include "api/config/feature_gates.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "api/codec/go_strconv.h"
#include "api/meta/names.h"

namespace muster {

namespace {

using enum Gate;
using enum GateStage;
using enum GateUse;

constexpr FeatureGate kGates[] = {
#define GATE(name, ...) {k##name, #name, __VA_ARGS__},
#include "api/config/feature_gate_table.inc"
#undef GATE
};

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";
constexpr std::string_view kField = "featureGates";
// Of workload-aware scheduling (JobSet KEP-969), which needs kinds of Kubernetes 1.37: they can be off only.
constexpr std::string_view kJobSetSchedulingGate = "JobSetWorkloadAwareSchedulingAPI";
constexpr std::string_view kJobSetGangOfGangsGate = "JobSetGangOfGangs";

// The oldest release whose configuration files start muster: 0.15.
constexpr int kOldestMinor = 15;

std::string release(int minor) {
  return "0." + std::to_string(minor);
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Whether no release since the oldest has taken the value.
bool was_always_locked(const FeatureGate& gate, bool enabled) {
  return gate.default_enabled != enabled && gate.past.locked != 0 && gate.past.locked <= kOldestMinor;
}

// The first reason why the gates cannot be set at all; empty when they can.
std::string why_not_settable(const FeatureGateMap& gates) {
  std::string locked;
  for (const auto& [name, enabled] : gates) {
    if (name == kAllAlpha || name == kAllBeta) continue;
    const FeatureGate* gate = find_feature_gate(name);
    if (gate == nullptr) return "unrecognized feature gate: " + name;
    if (was_always_locked(*gate, enabled) && locked.empty()) {
      locked = "cannot set feature gate " + name + " to " + (enabled ? "true" : "false") + ", feature is locked to " +
               (gate->default_enabled ? "true" : "false");
    }
  }
  return locked;
}

FeatureGateMap with_present_names(const FeatureGateMap& named) {
  FeatureGateMap gates = named;
  for (const auto& [name, enabled] : named) {
    const FeatureGate* gate = find_feature_gate(name);
    if (gate == nullptr || !gate->past.renamed) continue;
    gates.erase(name);
    gates.emplace(feature_gate(*gate->past.renamed).name, enabled);
  }
  return gates;
}

// What the names say of a gate: its name comes before the group of its stage.
std::optional<bool> named_value(const FeatureGate& gate, const FeatureGateMap& named) {
  auto found = named.find(gate.name);
  if (found == named.end() && gate.stage == kAlpha) found = named.find(kAllAlpha);
  if (found == named.end() && gate.stage == kBeta) found = named.find(kAllBeta);
  return found != named.end() ? std::optional(found->second) : std::nullopt;
}

bool has_what_it_needs(const FeatureGate& gate, const FeatureGates& resolved) {
  return std::all_of(gate.needs.begin(), gate.needs.end(),
                     [&](std::optional<Gate> needed) { return !needed || resolved.enabled(*needed); });
}

FieldErrors missing_dependencies(const FeatureGateMap& named, const FeatureGates& resolved) {
  const std::string field(kField);
  FieldErrors errors;
  // The one check of a default that every release since 0.15 has made.
  if (resolved.enabled(kTASProfileMixed) && !resolved.enabled(kTopologyAwareScheduling)) {
    errors.push_back(invalid(field, 1, "cannot use a TAS profile with TAS disabled"));
  }
  for (const auto& [name, enabled] : with_present_names(named)) {
    const FeatureGate* gate = find_feature_gate(name);
    if (gate == nullptr || !enabled) continue;
    for (const std::optional<Gate> needed : gate->needs) {
      if (!needed || resolved.enabled(*needed)) continue;
      const std::string needed_name(feature_gate(*needed).name);
      errors.push_back(invalid(field, name, name + " requires " + needed_name + " to be enabled"));
    }
  }
  const auto is_set = [&](Gate gate) {
    const auto found = named.find(feature_gate(gate).name);
    return found != named.end() && found->second;
  };
  if (is_set(kWaitForPodsReadyUnscheduledTimeout) && is_set(kDisableWaitForPodsReady)) {
    const std::string gate(feature_gate(kWaitForPodsReadyUnscheduledTimeout).name);
    errors.push_back(invalid(field, gate, gate + " cannot be enabled together with DisableWaitForPodsReady"));
  }
  return errors;
}

// A gate that the file does not name follows the gates that it needs: the release that the file is written for possibly
// did not know it.
void follow_needed_gates(FeatureGates& resolved, const FeatureGateMap& named) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const FeatureGate& gate : known_feature_gates()) {
      if (named.contains(gate.name) || !resolved.enabled(gate.gate)) continue;
      if (has_what_it_needs(gate, resolved)) continue;
      resolved.set(gate.gate, false);
      changed = true;
    }
  }
}

}  // namespace

FeatureGates::FeatureGates(std::initializer_list<std::pair<Gate, bool>> values) {
  for (const FeatureGate& gate : kGates) set(gate.gate, gate.default_enabled);
  for (const auto& [gate, on] : values) set(gate, on);
}

std::span<const FeatureGate> known_feature_gates() {
  return kGates;
}

const FeatureGate& feature_gate(Gate gate) {
  return kGates[static_cast<size_t>(gate)];
}

const FeatureGate* find_feature_gate(std::string_view name) {
  const auto gates = known_feature_gates();
  const auto found = std::lower_bound(gates.begin(), gates.end(), name,
                                      [](const FeatureGate& gate, std::string_view n) { return gate.name < n; });
  return found != gates.end() && found->name == name ? &*found : nullptr;
}

Result<FeatureGateMap> parse_feature_gates(std::string_view text) {
  FeatureGateMap gates;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    const std::string name(trim(entry.substr(0, equals)));
    if (equals == std::string_view::npos) return fail("missing bool value for " + name);
    const std::string_view value = trim(entry.substr(equals + 1));
    const Result<bool> enabled = go_parse_bool(value);
    if (!enabled) {
      return fail("invalid value of " + name + "=" + std::string(value) + ", err: " + enabled.error().message);
    }
    gates[name] = *enabled;
  }
  return gates;
}

FeatureGates resolve_feature_gates(const FeatureGateMap& named) {
  const FeatureGateMap present = with_present_names(named);
  FeatureGates resolved;
  for (const FeatureGate& gate : kGates) {
    if (const std::optional<bool> value = named_value(gate, present)) resolved.set(gate.gate, *value);
  }
  follow_needed_gates(resolved, present);
  return resolved;
}

FieldErrors check_feature_gates(std::string_view flag, const std::optional<FeatureGateMap>& file) {
  const std::string field(kField);
  FeatureGateMap gates = file.value_or(FeatureGateMap{});
  const nlohmann::json file_value = gates;
  if (!flag.empty()) {
    Result<FeatureGateMap> parsed = parse_feature_gates(flag);
    if (!parsed) return {invalid(field, std::string(flag), parsed.error().message)};
    gates = std::move(parsed).value();
  }
  if (const std::string reason = why_not_settable(gates); !reason.empty()) {
    return {flag.empty() ? invalid(field, file_value, reason) : invalid(field, std::string(flag), reason)};
  }
  FieldErrors errors;
  if (!flag.empty() && file) {
    errors.push_back(invalid(field, file_value, "feature gates for CLI and configuration cannot both specified"));
  }
  append(errors, missing_dependencies(gates, resolve_feature_gates(gates)));
  std::sort(errors.begin(), errors.end(), [](const FieldError& a, const FieldError& b) { return a.text() < b.text(); });
  return errors;
}

std::vector<std::string> outdated_gates(const FeatureGateMap& named) {
  std::vector<std::string> sentences;
  for (const auto& [name, enabled] : named) {
    const FeatureGate* gate = find_feature_gate(name);
    if (gate == nullptr || gate->past == GatePast{}) continue;
    const auto& [locked, last, renamed, instead] = gate->past;
    std::string sentence = std::string(kField) + "." + name + ": " + (enabled ? "true" : "false");
    if (renamed) {
      const FeatureGate& present = feature_gate(*renamed);
      sentence += " is read as " + std::string(present.name) + ", the name of this gate after Kueue " + release(last);
      if (present.use == kNone) sentence += "; muster does not act on it";
    } else if (enabled == gate->default_enabled) {
      continue;
    } else {
      sentence += " has no effect: ";
      sentence += last != 0 ? "Kueue " + release(last) + " is the last release with this gate, and later ones behave"
                            : "the gate is locked since Kueue " + release(locked) + ", which behaves";
      sentence += std::string(" as with ") + (gate->default_enabled ? "true" : "false");
    }
    if (!instead.empty()) sentence += "; " + std::string(instead);
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

FieldErrors check_jobset_feature_gates(std::string_view field, const FeatureGateMap& gates) {
  constexpr std::string_view kKnown[] = {kElasticJobSetGate,   kExecutionAttemptsGate, kInPlaceRestartGate,
                                         kJobSetDeadlineGate,  kMutableResourcesGate,  kRestartJobGate,
                                         kJobSetTlsOptionsGate};
  constexpr std::string_view kUnsupported[] = {kJobSetSchedulingGate, kJobSetGangOfGangsGate};
  const auto is_one_of = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  FieldErrors errors;
  for (const auto& [name, enabled] : gates) {
    const FieldPath path = FieldPath(std::string(field)).child(name);
    if (name == kJobSetTlsOptionsGate && !enabled) {
      errors.push_back(invalid(path, false, "the feature is locked to true; leave the gate out"));
    } else if (is_one_of(kUnsupported, name) && enabled) {
      errors.push_back(invalid(path, true,
                               "muster does not support workload-aware scheduling of JobSets, which needs kinds of "
                               "Kubernetes 1.37; leave the gate out, or run JobSet's own controller beside muster"));
    } else if (!is_one_of(kKnown, name) && !is_one_of(kUnsupported, name)) {
      errors.push_back(forbidden(
          path, "is no feature gate of JobSet; the gates are " + join({std::begin(kKnown), std::end(kKnown)}, ", ")));
    }
  }
  return errors;
}

}  // namespace muster
