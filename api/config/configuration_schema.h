// Every field of Kueue's Configuration, as data: what it is called, of what type it
// is, in which version it exists, and whether muster acts on it yet. Decoding,
// printing, the start-up line of what does not act and a test of the documentation
// all read this one table.
//
// Types carry the names that Go gives them, because a wrong type is reported to the
// user in the words that Kueue would use. Source: config.kueue.x-k8s.io v1beta1 and
// v1beta2, with the embedded types of component-base, apimachinery and client-go.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class ConfigVersion : uint8_t { kV1beta1 = 1, kV1beta2 = 2 };

enum class ConfigKind {
  kString,
  kBool,
  kInt,  // Go's int: 64 bits
  kInt32,
  kFloat,
  kDuration,     // text as in "1h30m"
  kNanoseconds,  // a plain number
  kQuantity,
  kStruct,
};
enum class ConfigContainer { kOne, kList, kMap };  // maps have string keys

// What printing does with a value that is not there or empty.
enum class ConfigPresence {
  kPointer,    // left out when not there; kept when there, even empty
  kOmitEmpty,  // left out when not there or empty
  kAlways,     // printed with its zero value
};

struct ConfigStruct;

struct ConfigField {
  std::string_view name;
  ConfigKind kind;
  ConfigContainer container = ConfigContainer::kOne;
  ConfigPresence presence = ConfigPresence::kOmitEmpty;
  // Of one element; "~X" stands for X in the package of the file's version.
  std::string_view go_type;
  const ConfigStruct* object = nullptr;  // for kStruct
  uint8_t versions = 3;                  // bits of ConfigVersion
  bool acts = false;                     // muster reads it; a struct that acts does so as a whole
  // Of the whole container where Go has a name for it, else empty.
  std::string_view go_container = {};

  bool in(ConfigVersion version) const { return (versions & static_cast<uint8_t>(version)) != 0; }
};

struct ConfigStruct {
  std::string_view go_name;
  std::span<const ConfigField> fields;
};

// The root: apiVersion, kind and everything below.
const ConfigStruct& configuration_schema();
// Fields that Go embeds from ControllerManager; it appears in the paths of type errors.
bool embedded_in_controller_manager(std::string_view root_field);

// A setting that a user can write: a leaf of the schema; a list or a map is one setting.
struct ConfigSetting {
  std::string path;  // "waitForPodsReady.requeuingStrategy.timestamp"
  bool acts;
  uint8_t versions;
};
// In the order of the schema; feature gates are not among them (api/config/feature_gates.h).
std::vector<ConfigSetting> configuration_settings();

// A decoded value as Go would print it: fields in the order of the schema. For the
// part of an error message that shows the offending value.
std::string print_as_go(const nlohmann::json& value, const ConfigField& field);
// The field at a dotted path; stops the process when there is none.
const ConfigField& configuration_field(std::string_view path);

}  // namespace muster
