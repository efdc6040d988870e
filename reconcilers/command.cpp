#include "reconcilers/command.h"

#include <utility>

namespace muster::reconcilers {
namespace {

constexpr std::pair<Verb, std::string_view> kVerbs[] = {{Verb::kCreate, "create"},
                                                        {Verb::kPatch, "patch"},
                                                        {Verb::kPatchStatus, "patchStatus"},
                                                        {Verb::kDelete, "delete"},
                                                        {Verb::kFindPods, "findPods"}};

constexpr std::pair<WriteOutcome, std::string_view> kOutcomes[] = {
    {WriteOutcome::kDone, "done"},         {WriteOutcome::kConflict, "conflict"},
    {WriteOutcome::kNotFound, "notFound"}, {WriteOutcome::kAlreadyExists, "alreadyExists"},
    {WriteOutcome::kRefused, "refused"},   {WriteOutcome::kFailed, "failed"}};

template <class Table, class Value>
std::string_view word_in(const Table& table, Value value) {
  for (const auto& [known, word] : table) {
    if (known == value) return word;
  }
  return "";
}

template <class Value, size_t kSize>
std::optional<Value> value_in(const std::pair<Value, std::string_view> (&table)[kSize], std::string_view word) {
  for (const auto& [value, known] : table) {
    if (known == word) return value;
  }
  return std::nullopt;
}

}  // namespace

nlohmann::json with_version(const ObjectMeta& meta, nlohmann::json patch) {
  if (meta.resource_version != 0) patch["metadata"]["resourceVersion"] = std::to_string(meta.resource_version);
  return patch;
}

std::string_view word_of(Verb verb) {
  return word_in(kVerbs, verb);
}

std::string_view word_of(WriteOutcome outcome) {
  return word_in(kOutcomes, outcome);
}

std::optional<Verb> find_verb(std::string_view word) {
  return value_in(kVerbs, word);
}

std::optional<WriteOutcome> find_outcome(std::string_view word) {
  return value_in(kOutcomes, word);
}

}  // namespace muster::reconcilers
