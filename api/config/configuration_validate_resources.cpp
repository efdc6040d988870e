#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/config/configuration_validate.h"
#include "api/meta/names.h"

namespace muster {

namespace {

using nlohmann::json;

// The number of pods, which quota counts under this name.
void refuse_pods(const FieldPath& path, std::string_view resource, const FeatureGates& gates, FieldErrors& errors) {
  if (resource == "pods" && gates.enabled(Gate::kReservedResourceNameValidation))
    errors.push_back(invalid(path, resource, "the key is reserved for internal kueue use: it is the number of pods"));
}

void validate_transformations(const json& resources, const FeatureGates& gates, FieldErrors& errors) {
  const FieldPath path = FieldPath("resources").child("transformations");
  std::set<std::string> inputs;
  const json& transformations = array_at(resources, {"transformations"});
  for (size_t i = 0; i < transformations.size(); ++i) {
    const json& strategy = transformations[i].at("strategy");
    if (strategy != "Retain" && strategy != "Replace") {
      errors.push_back(not_supported(path.index(i).child("strategy"), strategy, {"Replace", "Retain"}));
    }
    const json& input = transformations[i].at("input");
    if (!inputs.insert(input.get<std::string>()).second) {
      errors.push_back(duplicate(path.index(i).child("input"), input));
    }
    refuse_pods(path.index(i).child("input"), string_at(transformations[i], {"input"}), gates, errors);
    refuse_pods(path.index(i).child("multiplyBy"), string_at(transformations[i], {"multiplyBy"}), gates, errors);
    for (const auto& [output, factor] : object_at(transformations[i], {"outputs"}).items())
      refuse_pods(path.index(i).child("outputs").key(output), output, gates, errors);
  }
}

void validate_quota_check(const json& resources, const FeatureGates& gates, FieldErrors& errors) {
  const auto strategy = resources.find("quotaCheckStrategy");
  if (strategy == resources.end() || !gates.enabled(Gate::kQuotaCheckStrategy)) return;
  const std::string field = "resources.quotaCheckStrategy";
  if (*strategy == "IgnoreUndeclared" && !array_at(resources, {"excludeResourcePrefixes"}).empty()) {
    errors.push_back(invalid(field, *strategy,
                             "excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared"));
  }
  if (*strategy != "IgnoreUndeclared" && *strategy != "BlockUndeclared") {
    errors.push_back(not_supported(field, *strategy, {"BlockUndeclared", "IgnoreUndeclared"}));
  }
}

// Device classes across all mappings: each belongs to one resource, except that
// mappings that count different counters can share one.
class DeviceClasses {
 public:
  void claim(const std::string& device_class, const std::string& resource, const std::string& counter,
             const FieldPath& path, FieldErrors& errors) {
    const auto [found, fresh] = owners_.try_emplace(device_class, Owner{resource, {}});
    Owner& owner = found->second;
    if (!fresh && owner.resource != resource) {
      if (counter.empty() || owner.counters.empty()) {
        errors.push_back(invalid(path, device_class, "device class already mapped to resource " + owner.resource));
      } else if (!owner.counters.insert(counter).second) {
        errors.push_back(
            invalid(path, device_class, "device class already has a counter source for counter \"" + counter + "\""));
      }
    }
    if (fresh && !counter.empty()) owner.counters.insert(counter);
  }

 private:
  struct Owner {
    std::string resource;
    std::set<std::string> counters;
  };
  std::map<std::string, Owner> owners_;
};

void check_resource_name(const FieldPath& path, const std::string& name, FieldErrors& errors) {
  const auto complaints = is_qualified_name(name);
  if (!complaints.empty()) errors.push_back(invalid(path, name, join(complaints, "; ")));
  if (name.size() > 253) errors.push_back(invalid(path, name, "must not exceed 253 characters"));
}

void check_source(const json& source, const char* type, const FieldPath& path, FieldErrors& errors) {
  const auto& name = source.at("name").get_ref<const std::string&>();
  if (name.empty()) {
    errors.push_back(required(path.child("name"), ""));
  } else if (std::string_view(type) == "counter") {
    const auto complaints = is_dns1123_label(name);
    if (!complaints.empty()) errors.push_back(invalid(path.child("name"), name, join(complaints, ",")));
  } else if (std::count(name.begin(), name.end(), '/') > 1) {
    errors.push_back(invalid(path.child("name"), name, "must have at most one '/', after a DNS subdomain"));
  }
  const auto& driver = source.at("driver").get_ref<const std::string&>();
  if (driver.empty()) {
    errors.push_back(required(path.child("driver"), ""));
  } else if (driver.size() > 63) {
    errors.push_back(invalid(path.child("driver"), driver, "must not exceed 63 characters"));
  } else if (const auto complaints = is_dns1123_subdomain(driver); !complaints.empty()) {
    errors.push_back(invalid(path.child("driver"), driver, join(complaints, ",")));
  }
  // Only a component that reads device classes needs the expression; muster does not evaluate CEL here.
  if (string_at(source, {"deviceSelector", "cel", "expression"}).empty()) {
    errors.push_back(required(path.child("deviceSelector").child("cel").child("expression"), ""));
  }
}

void check_sources(const json& sources, const FieldPath& path, const FeatureGates& gates, FieldErrors& errors) {
  struct SourceType {
    const char* name;
    Gate gate;
  };
  constexpr SourceType kTypes[] = {{"counter", Gate::kKueueDRAIntegrationPartitionableDevices},
                                   {"capacity", Gate::kKueueDRAIntegrationConsumableCapacity}};
  bool has[2] = {false, false};
  for (size_t i = 0; i < sources.size(); ++i) {
    const FieldPath at = path.index(i);
    const bool both = sources[i].contains("counter") && sources[i].contains("capacity");
    if (both) errors.push_back(invalid(at, "counter+capacity", "exactly one source type must be set per entry"));
    if (sources[i].empty()) errors.push_back(required(at, "exactly one source type must be set per entry"));
    if (both) continue;
    for (size_t t = 0; t < 2; ++t) {
      const auto source = sources[i].find(kTypes[t].name);
      if (source == sources[i].end()) continue;
      has[t] = true;
      const FieldPath source_path = at.child(kTypes[t].name);
      if (gates.enabled(kTypes[t].gate)) {
        check_source(*source, kTypes[t].name, source_path, errors);
      } else {
        const std::string gate(feature_gate(kTypes[t].gate).name);
        errors.push_back(
            invalid(source_path, true, std::string(kTypes[t].name) + " sources require " + gate + " to be enabled"));
      }
    }
  }
  if (has[0] && has[1]) {
    errors.push_back(invalid(path, sources.size(), "cannot mix counter and capacity sources in the same mapping"));
  }
}

void check_mapping(const json& mapping, const FieldPath& path, const FeatureGates& gates, DeviceClasses& classes,
                   FieldErrors& errors) {
  constexpr size_t kMostClasses = 8;
  const auto& name = mapping.at("name").get_ref<const std::string&>();
  check_resource_name(path.child("name"), name, errors);
  refuse_pods(path.child("name"), name, gates, errors);
  const json& device_classes = array_at(mapping, {"deviceClassNames"});
  const FieldPath classes_path = path.child("deviceClassNames");
  if (device_classes.empty()) errors.push_back(required(classes_path, "at least one device class name is required"));
  if (device_classes.size() > kMostClasses) {
    errors.push_back(too_many(classes_path, device_classes.size(), kMostClasses));
  }
  const json& sources = array_at(mapping, {"sources"});
  const std::string counter(sources.empty() ? std::string_view() : string_at(sources[0], {"counter", "name"}));
  std::set<std::string> seen;
  for (size_t i = 0; i < device_classes.size(); ++i) {
    const auto& device_class = device_classes[i].get_ref<const std::string&>();
    check_resource_name(classes_path.index(i), device_class, errors);
    if (!seen.insert(device_class).second) errors.push_back(duplicate(classes_path.index(i), device_class));
    classes.claim(device_class, name, counter, classes_path.index(i), errors);
  }
}

void validate_device_classes(const json& resources, const FeatureGates& gates, FieldErrors& errors) {
  constexpr size_t kMost = 16;
  const FieldPath path = FieldPath("resources").child("deviceClassMappings");
  const json& mappings = array_at(resources, {"deviceClassMappings"});
  if (mappings.size() > kMost) errors.push_back(too_many(path, mappings.size(), kMost));
  std::set<std::string> names;
  DeviceClasses classes;
  for (size_t i = 0; i < mappings.size(); ++i) {
    check_mapping(mappings[i], path.index(i), gates, classes, errors);
    if (!names.insert(mappings[i].at("name").get<std::string>()).second) {
      errors.push_back(duplicate(path.index(i).child("name"), mappings[i].at("name")));
    }
    check_sources(array_at(mappings[i], {"sources"}), path.index(i).child("sources"), gates, errors);
  }
}

}  // namespace

void validate_resources(const json& configuration, const FeatureGates& gates, FieldErrors& errors) {
  const json* resources = find_path(configuration, {"resources"});
  if (resources == nullptr) return;
  validate_transformations(*resources, gates, errors);
  validate_quota_check(*resources, gates, errors);
  validate_device_classes(*resources, gates, errors);
}

}  // namespace muster
