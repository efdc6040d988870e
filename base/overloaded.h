// std::visit with one lambda per alternative: std::visit(Overloaded{...}, variant).
#pragma once

namespace muster {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 14 does not deduce it

}  // namespace muster
