#include "state/index/object_indexes.h"

#include <utility>

namespace muster::state {

void ObjectIndexes::add(const void* declared, std::unique_ptr<AnyIndex> index, size_t kind, const ForEach& for_each) {
  for_each([&](const TypedObject& place) {
    if (kind == kAllKinds || place.index() == kind) index->insert(place);
  });
  for (size_t each = 0; each < kAllKinds; ++each) {
    if (kind == kAllKinds || each == kind) of_kind_[each].push_back(index.get());
  }
  made_.push_back({declared, std::move(index)});
}

void ObjectIndexes::insert(const TypedObject& place) {
  for (AnyIndex* index : of_kind_[place.index()]) index->insert(place);
}

void ObjectIndexes::erase(const TypedObject& place) {
  for (AnyIndex* index : of_kind_[place.index()]) index->erase(place);
}

TypedObject ObjectIndexes::replace(TypedObject& place, const TypedObject& object) {
  const std::vector<AnyIndex*>& indexes = of_kind_[place.index()];
  std::vector<AnyIndex*> differ;
  for (AnyIndex* index : indexes) {
    if (!index->same(place, object)) differ.push_back(index);
  }
  for (AnyIndex* index : differ) index->erase(place);
  TypedObject before = std::exchange(place, object);
  for (AnyIndex* index : differ) index->insert(place);
  return before;
}

}  // namespace muster::state
