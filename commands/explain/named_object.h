// The object that the words of a command line name: explain, history and priority take the same forms. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/meta/resource_type.h"
#include "base/result.h"

namespace muster::commands {

struct NamedObject {
  const ResourceType* type = nullptr;  // nullptr: a name alone, of any kind
  std::string name;
};

// Of {"job", "train"}, {"job/train"} or {"train"}; a kind is each word that jobs/naming/named_kind.h knows.
Result<NamedObject> read_named_object(const std::vector<std::string>& words);

}  // namespace muster::commands
