// A LoopCore that is recorded into a text, and an API server of few words around it.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "api/watched_kinds.h"
#include "engine/loop/kind_feed.h"
#include "engine/loop/loop_core.h"
#include "engine/loop/write_answer.h"
#include "engine/recording/reader.h"
#include "engine/recording/recorded_state.h"
#include "engine/recording/redaction.h"
#include "engine/recording/replay.h"

namespace muster::test {

class TextRecorder final : public engine::LoopObserver {
 public:
  explicit TextRecorder(recording::Header header = {}) : header_(std::move(header)) {}

  std::string text_of(const ResourceType& type, const nlohmann::json& object) const override {
    return to_text(recording::redacted(type, object, recording::keyed_hash("key")));
  }
  void began() override { text = encoder_.begin(header_); }
  void saw(engine::ObservedBatch batch) override {
    text += encoder_.batch(batch);
    batches.push_back(std::move(batch));
  }

  std::string text;
  std::vector<engine::ObservedBatch> batches;

 private:
  const recording::Header header_;
  recording::Encoder encoder_;
};

// One leader with a queue of two cpus, which admits Workloads.
class RecordedLoop {
 public:
  explicit RecordedLoop(engine::LoopObserver& observer, engine::EngineSettings settings = {}) : observer_(observer) {
    settings.keep_webhook_configurations = false;
    settings.observer = &observer;
    core_ = std::make_unique<engine::LoopCore>(settings);
    for (const WatchedKind& kind : watched_kinds()) {
      engine::KindFeed feed(kind, {}, &observer_);
      feed.begin_list();
      for (const nlohmann::json& object : first_of(*kind.type)) CHECK(feed.list(object).ok());
      core_->apply(feed.end_list(1), now());
    }
    core_->apply(engine::LeadershipChanged{true}, now());
    plan();
  }

  void add_workload(const std::string& name, const std::string& secret = "hunter2") {
    const nlohmann::json container = {{"name", "main"},
                                      {"args", {secret}},
                                      {"env", nlohmann::json::array({{{"name", "A"}, {"value", secret}}})},
                                      {"resources", {{"requests", {{"cpu", "1"}}}}}};
    const nlohmann::json pod = {{"spec", {{"containers", nlohmann::json::array({container})}}}};
    put(kWorkloads, name,
        {{"spec",
          {{"queueName", "team"},
           {"active", true},
           {"podSets", nlohmann::json::array({{{"name", "main"}, {"count", 1}, {"template", pod}}})}}}});
    plan();
  }
  // Carries out what was asked for.
  void answer() {
    for (const engine::Command& command : std::exchange(asked, {})) {
      nlohmann::json object = objects_[command.write.target];
      if (object.is_null()) object = {{"metadata", {{"name", command.write.target.name}}}};
      object.merge_patch(command.write.body);
      object["apiVersion"] = command.write.target.type->api_version;
      object["kind"] = command.write.target.type->kind;
      object["metadata"]["resourceVersion"] = std::to_string(++version_);
      objects_[command.write.target] = object;
      passed_ += std::chrono::milliseconds(7);
      core_->apply(engine::answer_of_done(command, object, &observer_).finished, now());
    }
    plan();
  }
  void plan() {
    passed_ += std::chrono::milliseconds(10);
    engine::LoopActions actions = core_->plan(now());
    for (engine::Command& command : actions.commands.writes) asked.push_back(std::move(command));
  }

  std::vector<engine::Command> asked;

 private:
  Now now() const {
    return {TimePoint(std::chrono::seconds(1'767'268'800) + passed_), MonotonicTime(std::chrono::hours(1) + passed_)};
  }
  std::vector<nlohmann::json> first_of(const ResourceType& type) {
    using nlohmann::json;
    if (type.plural == kNamespaces.plural) return {made(type, "team-a", json::object())};
    if (type.plural == kResourceFlavors.plural) return {made(type, "default", json::object())};
    if (type.plural == kLocalQueues.plural) return {made(type, "team", {{"spec", {{"clusterQueue", "cluster"}}}})};
    if (type.plural != kClusterQueues.plural) return {};
    const json quota = {{"name", "cpu"}, {"nominalQuota", "2"}};
    const json flavor = {{"name", "default"}, {"resources", json::array({quota})}};
    const json group = {{"coveredResources", {"cpu"}}, {"flavors", json::array({flavor})}};
    return {made(type, "cluster",
                 {{"spec", {{"namespaceSelector", json::object()}, {"resourceGroups", json::array({group})}}}})};
  }
  nlohmann::json made(const ResourceType& type, const std::string& name, nlohmann::json object) {
    object["apiVersion"] = type.api_version;
    object["kind"] = type.kind;
    object["metadata"] = {{"name", name},
                          {"uid", name},
                          {"resourceVersion", std::to_string(++version_)},
                          {"creationTimestamp", "2026-01-01T12:00:00Z"}};
    if (type.namespaced) object["metadata"]["namespace"] = "team-a";
    objects_[{&type, type.namespaced ? "team-a" : "", name}] = object;
    return object;
  }
  void put(const ResourceType& type, const std::string& name, nlohmann::json object) {
    const engine::KindFeed feed(WatchedKind{.type = &type}, {}, &observer_);
    auto event = feed.change(made(type, name, std::move(object)));
    REQUIRE(event.ok());
    core_->apply(*event, now());
  }

  engine::LoopObserver& observer_;
  std::unique_ptr<engine::LoopCore> core_;
  std::map<ObjectKey, nlohmann::json> objects_;
  uint64_t version_ = 0;
  Duration passed_{};
};

struct Read {
  uint64_t batches = 0, decisions = 0;
  std::string torn{}, error{};
};
inline Read read_all(const std::string& text, size_t longest_line = recording::Reader::kLongestLine) {
  std::istringstream in(text);
  recording::Reader reader(in, longest_line);
  Read read;
  const auto header = reader.header();
  if (!header) return {.error = header.error().message};
  for (;;) {
    const auto batch = reader.next();
    if (!batch) {
      read.error = batch.error().message;
      return read;
    }
    if (!*batch) break;
    ++read.batches;
    read.decisions += (*batch)->writes.size();
  }
  read.torn = reader.torn();
  return read;
}

}  // namespace muster::test
