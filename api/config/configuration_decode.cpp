#include "api/config/configuration_decode.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "api/codec/go_strconv.h"
#include "api/meta/quantity.h"
#include "api/meta/time.h"

namespace muster {

namespace {

using nlohmann::json;

// Where the decoder is: for Go's words on a wrong type ("Go struct field
// ControllerWebhook.ControllerManager.webhook.port") and for the path of an unknown field.
struct Place {
  std::string_view struct_name;
  std::string go_path;  // without list indexes, with embedded structs
  std::string path;     // with list indexes

  Place into(std::string_view struct_now, std::string_view field) const {
    std::string go = go_path;
    if (path.empty() && embedded_in_controller_manager(field)) go = "ControllerManager";
    if (!go.empty()) go += '.';
    go += field;
    return {struct_now, std::move(go), key(field).path};
  }
  Place index(size_t i) const { return {struct_name, go_path, path + "[" + std::to_string(i) + "]"}; }
  Place key(std::string_view name) const {
    return {struct_name, go_path, path.empty() ? std::string(name) : path + "." + std::string(name)};
  }
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view name_of(ConfigVersion version) {
  return version == ConfigVersion::kV1beta1 ? "v1beta1" : "v1beta2";
}

bool is_empty(const json& value) {
  if (value.is_structured() || value.is_null()) return value.empty();
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  if (value.is_boolean()) return !value.get<bool>();
  return value == 0;
}

class Decoder {
 public:
  explicit Decoder(ConfigVersion version) : version_(version) {}

  json object(const json& in, const ConfigStruct& type, const Place& place, bool settings);
  DecodedConfiguration finish(json value) &&;

 private:
  json field(const json& in, const ConfigField& as, const Place& place, bool settings);
  json element(const json& in, const ConfigField& as, const Place& place, bool settings);
  json number(const json& in, const ConfigField& as, const Place& place);
  json duration(const json& in);
  json quantity(const json& in);
  json zero(const ConfigField& as);

  const ConfigField* find(const ConfigStruct& type, std::string_view name, ConfigVersion version) const;
  void unknown(const ConfigStruct& type, const std::string& name, const Place& place);
  void wrong_type(const json& in, std::string go_type, const Place& place, bool show_number = false);
  std::string go_type_of(const ConfigField& as, bool whole) const;

  ConfigVersion version_;
  DecodedConfiguration out_;
  // A value that reads itself (durations, quantities) ends the reading at once, and
  // its error beats the first wrong type before it.
  bool stopped_ = false;
};

const ConfigField* Decoder::find(const ConfigStruct& type, std::string_view name, ConfigVersion version) const {
  const auto match = std::find_if(type.fields.begin(), type.fields.end(), [&](const ConfigField& candidate) {
    return candidate.name == name && candidate.in(version);
  });
  return match == type.fields.end() ? nullptr : &*match;
}

void Decoder::unknown(const ConfigStruct& type, const std::string& name, const Place& place) {
  const std::string path = place.key(name).path;
  out_.unknown_fields.push_back("unknown field \"" + path + "\"");
  if (!out_.hint.empty()) return;
  const ConfigVersion other = version_ == ConfigVersion::kV1beta1 ? ConfigVersion::kV1beta2 : ConfigVersion::kV1beta1;
  if (find(type, name, other) != nullptr) {
    out_.hint =
        path + " exists in " + std::string(name_of(other)) + " only; remove it, or write the file in that version";
    return;
  }
  for (const ConfigField& candidate : type.fields) {
    if (!candidate.in(version_) || lower(candidate.name) != lower(name)) continue;
    out_.hint = "the case of letters counts: write " + place.key(candidate.name).path;
  }
}

std::string Decoder::go_type_of(const ConfigField& as, bool whole) const {
  if (whole && !as.go_container.empty()) return std::string(as.go_container);
  std::string name(as.go_type);
  if (name.starts_with('~')) name = std::string(name_of(version_)) + "." + name.substr(1);
  if (whole && as.container == ConfigContainer::kList) return "[]" + name;
  if (whole && as.container == ConfigContainer::kMap) return "map[string]" + name;
  return name;
}

void Decoder::wrong_type(const json& in, std::string go_type, const Place& place, bool show_number) {
  if (!out_.type_error.empty()) return;
  std::string what = in.is_boolean() ? "bool" : in.type_name();
  if (show_number) what += " " + in.dump();
  out_.type_error = "json: cannot unmarshal " + what + " into Go struct field " + std::string(place.struct_name) + "." +
                    place.go_path + " of type " + go_type;
}

json Decoder::number(const json& in, const ConfigField& as, const Place& place) {
  if (!in.is_number()) {
    wrong_type(in, go_type_of(as, false), place);
    return 0;
  }
  if (as.kind == ConfigKind::kFloat) {
    const bool too_big = as.go_type == "float32" && std::abs(in.get<double>()) > std::numeric_limits<float>::max();
    if (too_big) wrong_type(in, go_type_of(as, false), place, true);
    return in;
  }
  // Go writes a whole float without a fraction, so 5.0 in YAML is a good integer.
  const bool small = as.kind == ConfigKind::kInt32;
  const double least = small ? std::numeric_limits<int32_t>::min() : -9'223'372'036'854'775'808.0;
  const double beyond = small ? 2'147'483'648.0 : 9'223'372'036'854'775'808.0;
  const double value = in.get<double>();
  const bool whole = !in.is_number_float() || value == std::trunc(value);
  const bool exact64 = in.is_number_integer() && (!in.is_number_unsigned() || in.get<uint64_t>() <= INT64_MAX);
  if (!whole || value < least || (value >= beyond && !(exact64 && !small))) {
    wrong_type(in, go_type_of(as, false), place, true);
    return 0;
  }
  return exact64 ? in.get<int64_t>() : static_cast<int64_t>(value);
}

json Decoder::duration(const json& in) {
  const Result<Duration> parsed = parse_duration_json(in);
  if (parsed) return format_duration(*parsed);
  out_.type_error = parsed.error().message;
  stopped_ = true;
  return "0s";
}

json Decoder::quantity(const json& in) {
  const Result<Quantity> parsed = Quantity::from_json(in);
  if (parsed) return parsed->text();
  out_.type_error = parsed.error().message;
  stopped_ = true;
  return "0";
}

json Decoder::element(const json& in, const ConfigField& as, const Place& place, bool settings) {
  switch (as.kind) {
    case ConfigKind::kString:
      if (!in.is_null() && !in.is_string()) wrong_type(in, go_type_of(as, false), place);
      return in.is_string() ? in : json("");
    case ConfigKind::kBool:
      if (!in.is_null() && !in.is_boolean()) wrong_type(in, go_type_of(as, false), place);
      return in.is_boolean() ? in : json(false);
    case ConfigKind::kInt:
    case ConfigKind::kInt32:
    case ConfigKind::kFloat:
    case ConfigKind::kNanoseconds:
      return in.is_null() ? json(0) : number(in, as, place);
    case ConfigKind::kDuration:
      return duration(in);
    case ConfigKind::kQuantity:
      return in.is_null() ? json("0") : quantity(in);
    case ConfigKind::kStruct:
      if (!in.is_null() && !in.is_object()) wrong_type(in, go_type_of(as, false), place);
      return object(in.is_object() ? in : json::object(), *as.object, place, settings);
  }
  return nullptr;
}

json Decoder::field(const json& in, const ConfigField& as, const Place& place, bool settings) {
  const bool pointer = as.presence == ConfigPresence::kPointer;
  if (in.is_null() && (pointer || as.container != ConfigContainer::kOne)) return nullptr;
  if (as.container == ConfigContainer::kOne) return element(in, as, place, settings);
  const bool list = as.container == ConfigContainer::kList;
  if (list ? !in.is_array() : !in.is_object()) {
    wrong_type(in, go_type_of(as, true), place);
    return nullptr;
  }
  json out = list ? json::array() : json::object();
  size_t i = 0;
  for (auto it = in.begin(); it != in.end() && !stopped_; ++it) {
    if (list) {
      out.push_back(element(*it, as, place.index(i++), false));
    } else {
      out[it.key()] = element(*it, as, place.key(it.key()), false);
    }
  }
  return out;
}

json Decoder::zero(const ConfigField& as) {
  if (as.container != ConfigContainer::kOne) return nullptr;
  switch (as.kind) {
    case ConfigKind::kString:
      return "";
    case ConfigKind::kBool:
      return false;
    case ConfigKind::kDuration:
      return "0s";
    case ConfigKind::kQuantity:
      return "0";
    case ConfigKind::kStruct:
      return object(json::object(), *as.object, {}, false);
    default:
      return 0;
  }
}

json Decoder::object(const json& in, const ConfigStruct& type, const Place& place, bool settings) {
  json out = json::object();
  for (auto it = in.begin(); it != in.end() && !stopped_; ++it) {
    const ConfigField* as = find(type, it.key(), version_);
    if (as == nullptr) {
      unknown(type, it.key(), place);
      continue;
    }
    const Place inside = place.into(type.go_name, as->name);
    const bool leaf = as->kind != ConfigKind::kStruct || as->container != ConfigContainer::kOne || as->acts ||
                      (it->is_object() && it->empty());
    if (settings && leaf && !it->is_null()) out_.set.push_back(inside.path);
    json value = field(*it, *as, inside, settings && !leaf);
    const bool drop = as->presence == ConfigPresence::kOmitEmpty ? is_empty(value)
                      : as->presence == ConfigPresence::kPointer ? value.is_null()
                                                                 : false;
    if (!drop) out[it.key()] = std::move(value);
  }
  for (const ConfigField& as : type.fields) {
    if (as.presence != ConfigPresence::kAlways || !as.in(version_)) continue;
    if (!out.contains(std::string(as.name))) out[std::string(as.name)] = zero(as);
  }
  return out;
}

DecodedConfiguration Decoder::finish(json value) && {
  out_.value = std::move(value);
  return std::move(out_);
}

}  // namespace

DecodedConfiguration decode_configuration(const json& document, ConfigVersion version) {
  Decoder decoder(version);
  json value = decoder.object(document, configuration_schema(), {}, true);
  return std::move(decoder).finish(std::move(value));
}

}  // namespace muster
