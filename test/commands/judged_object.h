// One object as `muster review` and the webhooks judge it, with every kind enabled.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/yaml.h"
#include "commands/review/review_judge.h"
#include "jobs/job_kind.h"

namespace muster::test {

using namespace muster::commands;
using nlohmann::json;

inline json yaml(const std::string& text) {
  const auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  return documents->at(0).value;
}

inline RuleSettings every_kind() {
  RuleSettings settings;
  for (const jobs::JobKind* kind : jobs::job_kinds()) settings.frameworks.emplace(kind->framework);
  return settings;
}

inline ReviewedObject judge(const json& object, const json& old = nullptr,
                            const RuleSettings& settings = every_kind()) {
  JudgedRequest request;
  request.object = object;
  request.old_object = old;
  request.operation = old.is_null() ? Operation::kCreate : Operation::kUpdate;
  ClusterView view;
  view.put({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "a"}}}});
  return judge_manifest(request, view, settings);
}

inline std::string texts_of(const ReviewedObject& reviewed) {
  std::string texts;
  for (const ReviewFinding& finding : reviewed.findings) texts += finding.text() + "\n";
  return texts;
}

}  // namespace muster::test
