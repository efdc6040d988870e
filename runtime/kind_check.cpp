#include "runtime/kind_check.h"

#include <nlohmann/json.hpp>

#include "api/meta/resource_type.h"
#include "kinds/kind_schema.h"

namespace muster::runtime {

Result<std::string, kube::StatusError> contradiction_of(kube::KubeApi& api, const KindDescription& kind,
                                                        std::stop_token stop) {
  const auto definition =
      api.get(kube::resource_of(kCustomResourceDefinitions), "", kind.plural + "." + kind.group, std::move(stop));
  if (!definition && (definition.error().not_found() || definition.error().forbidden())) return std::string();
  if (!definition) return fail_with(definition.error());
  std::string found;
  for (const FieldError& error : contradictions(kind, *definition))
    found += (found.empty() ? "" : "\n") + ("JobKind " + kind.framework + ": " + error.text());
  return found;
}

}  // namespace muster::runtime
