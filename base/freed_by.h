// A deleter for objects of C libraries: std::unique_ptr<BIO, FreedBy<BIO_free>>.
#pragma once

namespace muster {

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace muster
