// Errors as values: a Result holds either a T or the reason why there is none.
//
// Nothing in muster throws across a function boundary; exceptions of libraries
// are caught where the library is called and become an Error there.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace muster {

// A sentence for a person: what failed, why, and where it helps what to do.
struct Error {
  std::string message;
};

// Wraps an error so that a function can write `return fail("...")` whatever its T.
template <class E>
struct Failure {
  E error;
};

inline Failure<Error> fail(std::string message) {
  return {Error{std::move(message)}};
}
template <class E>
Failure<E> fail_with(E error) {
  return {std::move(error)};
}

// Either a value or an error. Reading the one that is not there stops the
// process: it is a broken invariant of the caller, never an input error.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure<E> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const E& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, E> state_;
};

// The result of something that is done rather than computed.
struct Done {};
template <class E = Error>
using Outcome = Result<Done, E>;

}  // namespace muster
