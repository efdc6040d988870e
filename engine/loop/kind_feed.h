// What one watch of the API server tells, as events of the engine: the product's watches (kube/watch.h, by way
// of runtime/cluster.h) and the simulated ones use the same.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/config/reconciler_settings.h"
#include "base/result.h"
#include "engine/events.h"
#include "kinds/watched_kinds.h"

namespace muster::engine {

class LoopObserver;

// An object, or why muster cannot read it (a bug): then what was known of it before stays known.
using ReadObject = Result<TypedObject, Breakage>;

// An object as the engine knows it, from JSON that names its apiVersion and kind. `metadata_only`: as in WatchedKind.
// `settings` say what is kept of it (jobs/kept/kept_object.h); null: all.
ReadObject read_watched(const ResourceType& type, bool metadata_only, const nlohmann::json& object,
                        const ReconcilerSettings* settings = nullptr);

// What muster keeps of an object that is watched for its metadata.
nlohmann::json trimmed_metadata(const nlohmann::json& object);

// Whether muster watches the kind with these settings.
bool is_watched(const WatchedKind& kind, const ReconcilerSettings& settings);

// What the engine gets for a kind that is not watched with the present settings: there are no such objects.
std::vector<Event> events_of_unwatched(const ResourceType& type);

// One watch. Not thread-safe.
class KindFeed {
 public:
  // `name`: of the one object that is watched; empty: all that muster watches of the kind.
  // `observer`: gets the texts of the events' objects, and must outlive it; null: nothing does.
  // `settings`: as of read_watched().
  explicit KindFeed(const WatchedKind& kind, std::string name = {}, const LoopObserver* observer = nullptr,
                    std::shared_ptr<const ReconcilerSettings> settings = nullptr)
      : type_(kind.type),
        metadata_only_(kind.metadata_only),
        name_(std::move(name)),
        observer_(observer),
        settings_(std::move(settings)) {}

  const ResourceType& type() const { return *type_; }

  // A list begins; it can begin again before it is complete.
  void begin_list() {
    listed_.clear();
    texts_.clear();
  }
  // One object of it.
  Outcome<Breakage> list(const nlohmann::json& object);
  // The list is complete. `version`: of the list.
  KindListed end_list(uint64_t version);
  // One change.
  Result<Event, Breakage> change(const nlohmann::json& object) const;
  Result<Event, Breakage> removal(const nlohmann::json& last_state) const;
  // The API server does not serve the kind.
  KindAbsent absence() const { return {type_}; }
  // All that the API server held when `term` began was sent. nullopt: one object says nothing about its kind.
  std::optional<KindCaughtUp> caught_up(uint64_t term) const;

 private:
  std::string text_of(const nlohmann::json& object) const;
  ObjectTexts texts_of(const nlohmann::json& object) const;

  const ResourceType* type_;
  bool metadata_only_;
  std::string name_;
  const LoopObserver* observer_;
  std::shared_ptr<const ReconcilerSettings> settings_;
  std::vector<TypedObject> listed_;
  std::vector<std::string> texts_;  // of these; none without an observer
};

}  // namespace muster::engine
