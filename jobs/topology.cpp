#include "jobs/topology.h"

#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/names.h"
#include "base/whole_number.h"

namespace muster::jobs {
namespace {

using nlohmann::json;
using Value = std::optional<std::string_view>;

std::string in_quotes(std::string_view key) {
  return "'" + std::string(key) + "'";
}
std::string not_with(std::string_view key) {
  return "may not be set when " + in_quotes(key) + " is specified";
}

// As strconv.ParseUint reads 64 bits: digits only.
bool is_number(std::string_view text) {
  return whole_number<uint64_t>(text).has_value();
}

// The annotations of one template during the check.
class Examination {
 public:
  explicit Examination(const ConstPodTemplateRef& pod_template)
      : template_(pod_template),
        required_(value(kRequiredTopology)),
        preferred_(value(kPreferredTopology)),
        unconstrained_(value(kUnconstrainedTopology)),
        slice_level_(value(kSliceRequiredTopology)),
        slice_size_(value(kSliceSize)),
        layers_(value(kSliceLayers)),
        group_(value(kPodSetGroupName)),
        offset_(value(kPodIndexOffset)) {}

  FieldErrors run(const RuleSettings& settings) {
    check_levels();
    if (group_) check_group();
    check_slices();
    if (offset_) check_offset();
    if (layers_) check_layers(settings);
    return std::move(errors_);
  }

 private:
  Value value(std::string_view key) const { return annotation(*template_.template_json, key); }
  FieldPath path(std::string_view key) const { return annotations_path(template_).key(key); }
  void add(FieldError error) { errors_.push_back(std::move(error)); }

  void check_levels() {
    if (int(required_.has_value()) + int(preferred_.has_value()) + int(unconstrained_.has_value()) > 1) {
      add({annotations_path(template_), FieldErrorType::kInvalid, "",
           "must not contain more than one topology annotation: [\"" + std::string(kRequiredTopology) + "\", \"" +
               std::string(kPreferredTopology) + "\", \"" + std::string(kUnconstrainedTopology) + "\"]"});
    }
    check_level(required_, kRequiredTopology);
    check_level(preferred_, kPreferredTopology);
    check_level(slice_level_, kSliceRequiredTopology);
    if (unconstrained_ && !go_parse_bool(*unconstrained_).ok()) {
      add(invalid(path(kUnconstrainedTopology), *unconstrained_, "must be a boolean value"));
    }
  }

  // A level is named by the label key of its nodes.
  void check_level(Value level, std::string_view key) {
    if (!level) return;
    for (std::string& complaint : is_qualified_name(*level)) add(invalid(path(key), *level, std::move(complaint)));
  }

  void check_group() {
    const FieldPath field = path(kPodSetGroupName);
    if (is_number(*group_)) add(invalid(field, *group_, "must not be a number"));
    if (slice_size_) add(forbidden(field, not_with(kSliceSize)));
    if (slice_level_) add(forbidden(field, not_with(kSliceRequiredTopology)));
    if (!preferred_ && !required_) {
      add(forbidden(field, "may not be set when neither " + in_quotes(kPreferredTopology) + " nor " +
                               in_quotes(kRequiredTopology) + " is specified"));
    }
  }

  void check_slices() {
    const FieldPath field = path(kSliceSize);
    if (slice_size_) {
      const auto size = go_parse_int(*slice_size_, 32);
      if (!size.ok()) add(invalid(field, *slice_size_, "must be a numeric value"));
      if (size.ok() && *size < 1) add(invalid(field, *slice_size_, "must be greater than or equal to 1"));
    }
    if (slice_level_ && !slice_size_) {
      add(required(field, "must be set when " + in_quotes(kSliceRequiredTopology) + " is specified"));
    }
    if (!slice_level_ && slice_size_) {
      add(forbidden(field, "may not be set when " + in_quotes(kSliceRequiredTopology) + " is not specified"));
    }
  }

  // Within a group the offset follows from the group; both would count it twice.
  void check_offset() {
    const FieldPath field = path(kPodIndexOffset);
    if (group_) return add(forbidden(field, not_with(kPodSetGroupName)));
    const auto offset = go_parse_int(*offset_, 32);
    if (!offset.ok() || *offset < 0) add(invalid(field, *offset_, "must be a non-negative integer"));
  }

  void check_layers(const RuleSettings& settings) {
    const FieldPath field = path(kSliceLayers);
    if (!settings.enabled(Gate::kTASMultiLayerTopology)) {
      return add(forbidden(field, "the TASMultiLayerTopology feature gate must be enabled to use this annotation"));
    }
    if (slice_level_) add(forbidden(field, not_with(kSliceRequiredTopology)));
    if (slice_size_) add(forbidden(field, not_with(kSliceSize)));
    if (group_) add(forbidden(path(kPodSetGroupName), not_with(kSliceLayers)));
    append(errors_, check_slice_layers(field, *layers_));
  }

  const ConstPodTemplateRef& template_;
  Value required_, preferred_, unconstrained_, slice_level_, slice_size_, layers_, group_, offset_;
  FieldErrors errors_;
};

}  // namespace

FieldPath annotations_path(const ConstPodTemplateRef& pod_template) {
  if (pod_template.flat) return pod_template.path.child("annotations");
  return pod_template.path.child("metadata").child("annotations");
}

FieldErrors check_topology_annotations(const RuleSettings& settings, const ConstPodTemplateRef& pod_template) {
  if (object_at(*pod_template.template_json, {"metadata", "annotations"}).empty()) return {};
  return Examination(pod_template).run(settings);
}

FieldErrors check_slice_bounds(const ConstPodTemplateRef& pod_template) {
  FieldErrors errors;
  const std::string too_large = "must not be greater than pod set count " + std::to_string(pod_template.count);
  if (const auto text = annotation(*pod_template.template_json, kSliceSize)) {
    const auto size = go_parse_int(*text, 32);
    if (size.ok() && *size > pod_template.count) {
      errors.push_back(invalid(annotations_path(pod_template).key(kSliceSize), *text, too_large));
    }
  }
  if (const auto text = annotation(*pod_template.template_json, kSliceLayers)) {
    const auto layers = parse_slice_layers(*text);
    if (layers.ok() && !layers->empty() && layers->front().size > pod_template.count) {
      errors.push_back(invalid(annotations_path(pod_template).key(kSliceLayers), layers->front().size, too_large));
    }
  }
  return errors;
}

}  // namespace muster::jobs
