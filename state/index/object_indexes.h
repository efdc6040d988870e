// The indexes of one ClusterState that were asked for so far.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "kinds/typed_object.h"
#include "state/index/index.h"

namespace muster::state {

// One thread.
class ObjectIndexes {
 public:
  // `for_each` calls its argument with the place of every object: it is called for an index that is new.
  using ForEach = std::function<void(const std::function<void(const TypedObject&)>&)>;
  template <class Object>
  const ObjectIndex<Object>& get(const Index<Object>& declared, const ForEach& for_each) {
    for (const Made& known : made_) {
      if (known.declared == &declared) return static_cast<const ObjectIndex<Object>&>(*known.index);
    }
    auto index = std::make_unique<ObjectIndex<Object>>(declared);
    const ObjectIndex<Object>& made = *index;
    add(&declared, std::move(index), kind_of<Object>(), for_each);
    return made;
  }

  void insert(const TypedObject& place);
  void erase(const TypedObject& place);
  // The newer version takes the place of the older one, which is returned. Only the indexes in which they differ
  // change.
  TypedObject replace(TypedObject& place, const TypedObject& object);

 private:
  static constexpr size_t kAllKinds = std::variant_size_v<TypedObject>;
  // The place of a type among those of TypedObject.
  template <class Object>
  static size_t kind_of() {
    if constexpr (std::is_same_v<Object, TypedObject>)
      return kAllKinds;
    else
      return TypedObject(std::shared_ptr<const Object>()).index();
  }
  void add(const void* declared, std::unique_ptr<AnyIndex> index, size_t kind, const ForEach& for_each);

  struct Made {
    const void* declared;  // an Index, not owned
    std::unique_ptr<AnyIndex> index;
  };
  std::vector<Made> made_;  // a few
  std::array<std::vector<AnyIndex*>, kAllKinds> of_kind_;
};

}  // namespace muster::state
