// Which objects a list or a watch is about: the selectors of a request, in the text
// form that its query has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace muster::world {

struct Selection {
  // "a", "!a", "a=b", "a==b", "a!=b", joined by commas: all must hold.
  std::string labels{};
  // "metadata.name=x", "spec.nodeName=", by any path of strings; "=" , "==" and "!=".
  std::string fields{};

  bool matches(const nlohmann::json& object) const;
};

}  // namespace muster::world
