// Kueue's feature gates: which there are, what they default to, and what a
// `--feature-gates` flag or the configuration's map may say about them.
//
// Source: the gates of the Kueue release that muster follows, with their stages.
// The names are a contract: a configuration that starts Kueue must start muster, so
// every gate is known here, also those that nothing in muster reads yet.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/meta/field_error.h"
#include "base/result.h"

namespace muster {

enum class GateStage { kAlpha, kBeta, kStable, kDeprecated };

// What muster does with a gate.
enum class GateUse {
  kNone,       // nothing reads it
  kValidates,  // it only switches checks of objects or settings: the feature itself is not there
  kActs,
};

struct FeatureGate {
  std::string_view name;
  bool default_enabled;
  GateStage stage;  // a stable gate cannot be changed any more
  // Gates that are set and do not act are named at start-up.
  GateUse use = GateUse::kNone;
};

// Ordered by name.
std::span<const FeatureGate> known_feature_gates();
// nullptr when there is no such gate.
const FeatureGate* find_feature_gate(std::string_view name);

// Explicit settings of gates: name -> enabled. Can have AllAlpha and AllBeta.
using FeatureGateMap = std::map<std::string, bool, std::less<>>;

// "A=true,B=false". Later mentions win, as with Kueue. Does not ask whether a gate exists.
Result<FeatureGateMap> parse_feature_gates(std::string_view text);

// The named gates with AllAlpha and AllBeta spread over all gates of that stage that
// are not named themselves. This is what RuleSettings::feature_gates holds.
FeatureGateMap resolve_feature_gates(const FeatureGateMap& named);

// The named value, else the default; false for an unknown gate.
bool gate_enabled(const FeatureGateMap& resolved, std::string_view name);

// Everything that is wrong with the gates: unknown or locked names, gates without
// the gates they build on, and flag and file speaking at once. `flag` is the text of
// --feature-gates (empty: not given), `file` the map of the configuration (nullopt:
// not there). Worded as Kueue words it, sorted.
FieldErrors check_feature_gates(std::string_view flag, const std::optional<FeatureGateMap>& file);

// JobSet's feature gates, for clusters where muster is the JobSet controller. Off is the default,
// and all that the gates of what muster does not do can be; but TLSOptions is stable and always on.
inline constexpr std::string_view kElasticJobSetGate = "ElasticJobSet";
inline constexpr std::string_view kInPlaceRestartGate = "InPlaceRestart";
inline constexpr std::string_view kRestartJobGate = "RestartJob";
inline constexpr std::string_view kJobSetTlsOptionsGate = "TLSOptions";

// One error for each gate that is unknown, or that requests an unsupported feature; `field` is the path of the
// map.
FieldErrors check_jobset_feature_gates(std::string_view field, const FeatureGateMap& gates);

}  // namespace muster
