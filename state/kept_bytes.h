// How much memory the objects of the state take, by kind and by namespace, so that an administrator finds who fills it.
// Counted when an object comes and goes: nothing is added up for a query.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/measurement.h"
#include "kinds/typed_object.h"

namespace muster::state {

// One thread. Estimated (jobs/kept/object_bytes.h): the indexes and what other rooms make of the objects are not
// counted.
class KeptBytes {
 public:
  // The object as it lies in the state. What was added must be removed with the same shared parts.
  void add(const TypedObject& object) { count(object, 1); }
  void remove(const TypedObject& object) { count(object, -1); }

  size_t total() const;
  size_t of_kind(std::string_view kind) const;
  size_t of_namespace(std::string_view ns) const;
  // By kind, and of the namespace that has most.
  std::vector<GaugeReading> gauges() const;

 private:
  // A pod spec or a text that several objects hold counts once, for the kind and the namespace that had it first.
  struct Shared {
    size_t holders = 0;
    size_t bytes = 0;
    std::string_view kind;
    std::string ns;
  };
  void count(const TypedObject& object, int sign);
  void add_to(std::string_view kind, const std::string& ns, size_t bytes, int sign);
  template <class Part>
  void hold(const Part& part, const void* identity, std::string_view kind, const std::string& ns);
  void release(const void* identity);

  std::map<std::string_view, size_t> by_kind_;
  std::map<std::string, size_t, std::less<>> by_namespace_;
  std::unordered_map<const void*, Shared> shared_;
};

}  // namespace muster::state
