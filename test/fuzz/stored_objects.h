// Objects as a cluster can have stored them: by an older version, past a webhook, with a CRD
// that allowed more, or broken by hand. A plausible set of every kind that muster watches,
// related to each other, and changes of their structure by chance.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "kinds/typed_object.h"

namespace muster::fuzz {

// The same seed gives the same run.
class Chance {
 public:
  explicit Chance(uint64_t seed) : engine_(seed) {}
  // 0 .. below - 1.
  size_t number(size_t below) { return engine_() % below; }
  bool one_in(size_t times) { return number(times) == 0; }
  template <class List>
  auto& of(List& list) {
    return list[number(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

struct Stored {
  const ResourceType* type;
  nlohmann::json object;
};

// Every watched kind, with what belongs together: queued Jobs and JobSets with their Workloads,
// queues in a Cohort, a gang with its Job, pods and ConfigMap.
std::vector<Stored> stored_objects(Chance& chance);

// Changes the structure: wrong types, odd values, missing and repeated parts, parts of one place
// in another. The name and the namespace stay; the uid mostly.
void change(nlohmann::json& object, int times, Chance& chance);

}  // namespace muster::fuzz
