#include "engine/loop/kind_feed.h"

#include <exception>
#include <utility>

#include "api/codec/json.h"
#include "engine/loop/loop_observer.h"
#include "jobs/kept/kept_object.h"

namespace muster::engine {

using nlohmann::json;

// With the other fields, most of all managedFields, a list of 50,000 objects would have hundreds of megabytes.
json trimmed_metadata(const json& object) {
  json kept = {{"apiVersion", string_at(object, {"apiVersion"})}, {"kind", string_at(object, {"kind"})}};
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences"}) {
    if (const json* value = find_path(object, {"metadata", key})) kept["metadata"][key] = *value;
  }
  return kept;
}

ReadObject read_watched(const ResourceType& type, bool metadata_only, const json& object,
                        const ReconcilerSettings* settings) {
  try {
    TypedObject read = read_object(type, metadata_only ? trimmed_metadata(object) : object);
    return settings == nullptr ? std::move(read) : jobs::kept_of(read, *settings);
  } catch (const std::exception& thrown) {
    const ObjectKey key{&type, std::string(string_at(object, {"metadata", "namespace"})),
                        std::string(string_at(object, {"metadata", "name"}))};
    return fail_with(describe(key, Broke::kState, "reading an object", thrown));
  }
}

bool is_watched(const WatchedKind& kind, const ReconcilerSettings& settings) {
  return kind.is_needed(settings.queues.rules.runs_jobsets(), settings.group_scheduling,
                        settings.queues.rules.frameworks);
}

std::vector<Event> events_of_unwatched(const ResourceType& type) {
  return {KindListed{.type = &type, .objects = {}}, KindCaughtUp{&type, KindCaughtUp::kForever}};
}

std::string KindFeed::text_of(const json& object) const {
  return observer_->text_of(*type_, metadata_only_ ? trimmed_metadata(object) : object);
}

ObjectTexts KindFeed::texts_of(const json& object) const {
  if (observer_ == nullptr) return nullptr;
  return std::make_shared<const std::vector<std::string>>(1, text_of(object));
}

Outcome<Breakage> KindFeed::list(const json& object) {
  ReadObject read = read_watched(*type_, metadata_only_, object, settings_.get());
  if (!read) return fail_with(read.error());
  listed_.push_back(*std::move(read));
  if (observer_ != nullptr) texts_.push_back(text_of(object));
  return Done{};
}

KindListed KindFeed::end_list(uint64_t version) {
  ObjectTexts texts;
  if (observer_ != nullptr) texts = std::make_shared<const std::vector<std::string>>(std::exchange(texts_, {}));
  return {type_, std::exchange(listed_, {}), version, name_, std::move(texts)};
}

Result<Event, Breakage> KindFeed::change(const json& object) const {
  ReadObject read = read_watched(*type_, metadata_only_, object, settings_.get());
  if (!read) return fail_with(read.error());
  return Event(ObjectChanged{*std::move(read), texts_of(object)});
}

Result<Event, Breakage> KindFeed::removal(const json& last_state) const {
  ReadObject read = read_watched(*type_, metadata_only_, last_state, settings_.get());
  if (!read) return fail_with(read.error());
  return Event(ObjectRemoved{*std::move(read), texts_of(last_state)});
}

std::optional<KindCaughtUp> KindFeed::caught_up(uint64_t term) const {
  if (!name_.empty()) return std::nullopt;
  return KindCaughtUp{type_, term};
}

}  // namespace muster::engine
