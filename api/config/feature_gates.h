// Kueue's feature gates: which there are, what they default to, and what a
// `--feature-gates` flag or the configuration's map can say about them.
//
// Source: the gates of Kueue 0.15 to 0.20, with the stages and defaults of 0.20.
// The names are a contract: a configuration that has started one of these releases must
// start muster. So every gate is known here, also those that no code of muster reads, and
// those that Kueue has locked, renamed or removed since 0.15.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/gate.h"
#include "api/meta/field_error.h"
#include "base/result.h"

namespace muster {

enum class GateStage { kAlpha, kBeta, kStable, kDeprecated, kRemoved };

// What muster does with a gate.
enum class GateUse {
  kNone,       // nothing reads it
  kValidates,  // it only switches checks of objects or settings: the feature itself is not there
  kActs,
};

// What has become of a gate. Releases are minor versions: 17 is Kueue 0.17.
struct GatePast {
  int locked = 0;                 // the first release that refuses another value than the default; 0: none
  int last = 0;                   // the last release that knows the name; 0: 0.20 does
  std::optional<Gate> renamed{};  // the gate of the present name
  std::string_view instead{};     // what a user can do, or has to know

  bool operator==(const GatePast&) const = default;
};

struct FeatureGate {
  Gate gate;
  std::string_view name;
  bool default_enabled;  // of a removed gate: the value as which later releases behave
  GateStage stage;
  // Gates that are set and do not act are named at start-up.
  GateUse use = GateUse::kNone;
  // Without these gates it has no effect.
  std::array<std::optional<Gate>, 3> needs{};
  GatePast past{};
};

// Ordered by name.
std::span<const FeatureGate> known_feature_gates();
const FeatureGate& feature_gate(Gate gate);
// nullptr when there is no such gate.
const FeatureGate* find_feature_gate(std::string_view name);

// Explicit settings of gates: name -> enabled. Can have AllAlpha and AllBeta.
using FeatureGateMap = std::map<std::string, bool, std::less<>>;

// "A=true,B=false". Later mentions win, as with Kueue. Does not ask whether a gate exists.
Result<FeatureGateMap> parse_feature_gates(std::string_view text);

// The defaults with the named gates, by their present names, and with AllAlpha and AllBeta spread over all gates of
// that stage that are not named themselves. A gate that is not named is off where a gate that it needs is off. Unknown
// names have no effect. This is what RuleSettings::feature_gates holds.
FeatureGates resolve_feature_gates(const FeatureGateMap& named);

// Everything that is wrong with the gates: unknown names, values that no release since 0.15
// has taken, named gates without the gates that they need, and flag and file speaking at once. `flag` is the text of
// --feature-gates (empty: not given), `file` the map of the configuration (nullopt:
// not there). Worded as Kueue words it, sorted.
FieldErrors check_feature_gates(std::string_view flag, const std::optional<FeatureGateMap>& file);

// One sentence for each named value that a release since 0.15 has taken and that has no effect or another name now.
std::vector<std::string> outdated_gates(const FeatureGateMap& named);

// JobSet's feature gates, for clusters where muster is the JobSet controller. Off is the default,
// and all that the gates of what muster does not do can be; but TLSOptions is stable and always on.
inline constexpr std::string_view kElasticJobSetGate = "ElasticJobSet";
inline constexpr std::string_view kExecutionAttemptsGate = "ExecutionAttemptsTracking";
inline constexpr std::string_view kInPlaceRestartGate = "InPlaceRestart";
inline constexpr std::string_view kJobSetDeadlineGate = "JobSetActiveDeadlineSeconds";
inline constexpr std::string_view kMutableResourcesGate = "MutablePodResourcesForSuspendedJobSets";
inline constexpr std::string_view kRestartJobGate = "RestartJob";
inline constexpr std::string_view kJobSetTlsOptionsGate = "TLSOptions";

// One error for each gate that is unknown, or that requests an unsupported feature; `field` is the path of the
// map.
FieldErrors check_jobset_feature_gates(std::string_view field, const FeatureGateMap& gates);

}  // namespace muster
