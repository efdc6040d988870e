// The object of one kind behind a TypedObject. Pure.
#pragma once

#include <variant>

#include "kinds/typed_object.h"

namespace muster::state {

// The object of type `Pointer` (WorkloadPtr, JobPtr and so on) that `object` points to. Owned by `*object`; nullptr: no
// object, or an object of another kind.
template <class Pointer>
const typename Pointer::element_type* pointer_to(const TypedObject* object) {
  if (object == nullptr) return nullptr;
  const Pointer* typed = std::get_if<Pointer>(object);
  return typed == nullptr ? nullptr : typed->get();
}

}  // namespace muster::state
