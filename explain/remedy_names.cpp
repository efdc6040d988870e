// Names that commands are filled in with.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/did_you_mean.h"
#include "explain/explain_context.h"
#include "jobs/job_kind.h"

namespace muster::explain {
namespace {

std::vector<std::string> names_of(const ExplainContext& context, const ResourceType& type, const std::string& ns) {
  std::vector<std::string> names;
  context.state.for_each_of(type, [&](const TypedObject& object) {
    const ObjectMeta& meta = meta_of(object);
    if (!type.namespaced || meta.ns == ns) names.push_back(meta.name);
  });
  return names;
}

}  // namespace

Words words_of_job(const ExplainContext& context, const Workload& workload) {
  const auto& controller = workload.meta.controller;
  const jobs::JobKind* kind = controller ? jobs::find_owner_kind(*controller, context.queues().rules) : nullptr;
  return kind == nullptr ? Words() : words_of(kind->type, controller->name);
}

std::string nearest_name(const ExplainContext& context, const ResourceType& type, const std::string& ns,
                         std::string_view name) {
  return nearest_word(name, names_of(context, type, ns));
}

std::string only_local_queue(const ExplainContext& context, const std::string& ns) {
  const std::vector<std::string> names = names_of(context, kLocalQueues, ns);
  return names.size() == 1 ? names.front() : "";
}

std::string labels_patch(const LabelSelector& selector, const Labels& has) {
  using Operator = LabelRequirement::Operator;
  if (selector.matches_nothing()) return "";
  Labels wanted = has;
  nlohmann::json patch = nlohmann::json::object();
  for (const LabelRequirement& requirement : selector.requirements()) {
    if (requirement.matches(wanted)) continue;
    const bool removes = requirement.op == Operator::kNotIn || requirement.op == Operator::kDoesNotExist;
    const bool sets = requirement.op == Operator::kEquals || requirement.op == Operator::kIn;
    if (sets && requirement.values.empty()) return "";
    if (removes)
      wanted.erase(requirement.key);
    else
      wanted[requirement.key] = sets ? requirement.values.front() : "true";
    patch[requirement.key] = removes ? nlohmann::json() : nlohmann::json(wanted[requirement.key]);
  }
  if (!selector.matches(wanted)) return "";
  return to_text({{"metadata", {{"labels", patch}}}});
}

}  // namespace muster::explain
