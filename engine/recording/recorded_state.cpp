#include "engine/recording/recorded_state.h"

#include <algorithm>

namespace muster::recording {
namespace {

using What = engine::ObservedEvent::What;

}  // namespace

// Some kinds are watched object by object, and each object has its own lists.
RecordedState::List& RecordedState::list_of(const ResourceType& type, const std::string& path) {
  const auto named = lists_.find({type.id(), path.substr(path.find('/') + 1)});
  if (named != lists_.end()) return named->second.second;
  auto& list = lists_[{type.id(), ""}];
  list.first = &type;
  return list.second;
}

void RecordedState::replace(const engine::ObservedEvent& event) {
  absent_.erase(event.type->id());
  auto& [type, list] = lists_[{event.type->id(), event.name}];
  type = event.type;
  list.version = event.version;
  // Objects that are not in the list are kept if their version is newer than the list.
  std::erase_if(list.objects, [&](const auto& known) { return known.second.version <= event.version; });
  for (size_t i = 0; event.texts && i < std::min(event.objects.size(), event.texts->size()); ++i) {
    const auto& object = event.objects[i];
    const auto known = list.objects.find(object.path);
    if (known == list.objects.end() || known->second.version < object.version)
      list.objects.insert_or_assign(object.path, Object{object.version, (*event.texts)[i]});
  }
}

void RecordedState::put(const engine::ObservedEvent& event) {
  if (event.objects.empty() || !event.texts || event.texts->empty()) return;
  const auto& object = event.objects.front();
  List& list = list_of(*event.type, object.path);
  const auto known = list.objects.find(object.path);
  const bool newer = known == list.objects.end() || known->second.version <= object.version;
  if (!newer) return;
  list.version = std::max(list.version, object.version);
  if (event.what == What::kRemoved) {
    list.objects.erase(object.path);
  } else {
    list.objects.insert_or_assign(object.path, Object{object.version, event.texts->front()});
  }
}

void RecordedState::take(const engine::ObservedEvent& event) {
  switch (event.what) {
    case What::kListed:
      return replace(event);
    case What::kAbsent:
      absent_.emplace(event.type->id(), event.type);
      return;
    case What::kChanged:
    case What::kRemoved:
      return put(event);
    case What::kBundle:
      bundle_ = event.text;
      return;
    case What::kAnswer:
      under_way_.erase(event.id);
      if (event.type != nullptr && event.outcome == reconcilers::WriteOutcome::kDone) put(event);
      return;
    case What::kLeadership:
      leads_ = event.leads;
      if (event.leads) term_ = event.term;
      return;
    case What::kCaughtUp:
      caught_up_[event.type->id()] = {event.type, event.term};
      return;
    case What::kNodes:
      return nodes_.take(event);
    case What::kTick:
      return;
  }
}

void RecordedState::take(const engine::ObservedBatch& batch) {
  for (const engine::ObservedEvent& event : batch.events) take(event);
  for (const engine::Command& command : batch.writes) under_way_.emplace(command.id, command);
  now_ = batch.planned;
}

engine::ObservedBatch RecordedState::snapshot() const {
  engine::ObservedBatch batch{.events = {}, .planned = now_, .writes = {}};
  const auto add = [&](engine::ObservedEvent event) {
    event.at = now_;
    batch.events.push_back(std::move(event));
  };
  if (!bundle_.empty()) add({.what = What::kBundle, .text = bundle_});
  for (const auto& [key, list] : lists_) {
    std::vector<std::string> texts;
    engine::ObservedEvent event{
        .what = What::kListed, .type = list.first, .name = key.second, .version = list.second.version};
    for (const auto& [path, object] : list.second.objects) {
      texts.push_back(object.text);
      event.objects.push_back({path, object.version});
    }
    event.texts = std::make_shared<const std::vector<std::string>>(std::move(texts));
    add(std::move(event));
  }
  for (const auto& [kind, type] : absent_) add({.what = What::kAbsent, .type = type});
  if (leads_) add({.what = What::kLeadership, .term = term_, .leads = true});
  for (const auto& [kind, reached] : caught_up_)
    add({.what = What::kCaughtUp, .type = reached.first, .term = reached.second});
  nodes_.add_snapshot(add);
  for (const auto& [id, command] : under_way_) batch.writes.push_back(command);
  return batch;
}

}  // namespace muster::recording
