// Which pods run and which wait, kept from the API server's history, so that a test can
// ask after every step although there are thousands.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "test/world/api_server.h"

namespace muster::world {

class PodCensus {
 public:
  // `server` must outlive the census.
  explicit PodCensus(ApiServer& server);

  // Pods of a namespace whose name begins so and all of whose main containers run.
  int running(std::string_view ns, std::string_view name_prefix) const { return count(running_, ns, name_prefix); }
  // The same, whose waiter runs.
  int waiting(std::string_view ns, std::string_view name_prefix) const { return count(waiting_, ns, name_prefix); }

 private:
  using Names = std::set<std::string, std::less<>>;  // "ns/name"
  static int count(const Names& names, std::string_view ns, std::string_view name_prefix);
  void see(const Change& change);

  Names running_, waiting_;
};

}  // namespace muster::world
