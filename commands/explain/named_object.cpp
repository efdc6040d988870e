#include "commands/explain/named_object.h"

#include "api/meta/names.h"
#include "jobs/naming/named_kind.h"

namespace muster::commands {

Result<NamedObject> read_named_object(const std::vector<std::string>& words) {
  if (words.size() > 2) return fail("name one object, as job NAME, and not " + std::to_string(words.size()) + " words");
  std::string kind, name = words.back();
  if (words.size() == 2) {
    kind = words[0];
  } else if (const size_t slash = name.find('/'); slash != std::string::npos) {
    kind = name.substr(0, slash);
    name = name.substr(slash + 1);
    if (kind.empty()) return fail("\"" + words.back() + "\" is not KIND/NAME");
  }
  NamedObject target{nullptr, name};
  if (!kind.empty()) {
    const auto named = jobs::find_named_kind(kind);
    if (!named) return fail(jobs::no_such_kind(kind));
    target.type = named->type;
  }
  if (const auto wrong = is_dns1123_subdomain(name); !wrong.empty())
    return fail("no object can be named \"" + name + "\": " + join(wrong, "; "));
  return target;
}

}  // namespace muster::commands
