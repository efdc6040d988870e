#include "engine/unsupported_objects.h"

#include <algorithm>

namespace muster::engine {

std::vector<state::Unsupported> UnsupportedObjects::put(const ObjectKey& object,
                                                        std::vector<state::Unsupported> found) {
  const auto known = objects_.find(object);
  if (found.empty() && known == objects_.end()) return {};
  const std::vector<state::Unsupported> before =
      known == objects_.end() ? std::vector<state::Unsupported>() : known->second;
  remove(object);
  std::vector<state::Unsupported> news;
  for (const state::Unsupported& one : found) {
    const Feature feature(object.type->kind, one.what);
    ++counts_[feature];
    if (told_.insert(feature).second) first_.push_back({object, one});
    if (std::find(before.begin(), before.end(), one) == before.end()) news.push_back(one);
  }
  if (!found.empty()) objects_.emplace(object, std::move(found));
  return news;
}

void UnsupportedObjects::remove(const ObjectKey& object) {
  const auto known = objects_.find(object);
  if (known == objects_.end()) return;
  // Down to 0, which is shown: a series that ends is no figure.
  for (const state::Unsupported& one : known->second) --counts_[{std::string(object.type->kind), one.what}];
  objects_.erase(known);
}

std::vector<GaugeReading> UnsupportedObjects::gauges() const {
  std::vector<GaugeReading> readings;
  for (const auto& [feature, count] : counts_)
    readings.push_back(
        {Gauge::kUnsupportedObjects, {{"kind", feature.first}, {"what", feature.second}}, static_cast<double>(count)});
  return readings;
}

ObjectEvent event_about_unsupported(const TypedObject& object, const state::Unsupported& unsupported) {
  return event_about(type_of(object), meta_of(object), EventReason::kUnsupported, unsupported.note);
}

}  // namespace muster::engine
