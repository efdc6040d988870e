// A LoopCore that is recorded into a text, and the API server that it knows.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "engine/loop/kind_feed.h"
#include "engine/loop/loop_core.h"
#include "engine/loop/write_answer.h"
#include "engine/recording/reader.h"
#include "engine/recording/recorded_state.h"
#include "engine/recording/redaction.h"
#include "engine/recording/replay.h"
#include "kinds/watched_kinds.h"
#include "test/support/object_server.h"
#include "test/support/queue_objects.h"

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
class RecordedLoop : public ObjectServer {
 public:
  explicit RecordedLoop(engine::LoopObserver& observer, engine::EngineSettings settings = {}) : observer_(observer) {
    put(kResourceFlavors, "default", json::object());
    put(kClusterQueues, "cluster", cluster_queue_of({quota_of("default", {{"cpu", "2"}})}));
    put(kLocalQueues, "team", {{"spec", {{"clusterQueue", "cluster"}}}});
    settings.keep_webhook_configurations = false;
    settings.observer = &observer;
    core_ = std::make_unique<engine::LoopCore>(settings);
    for (const WatchedKind& kind : watched_kinds()) {
      engine::KindFeed feed(kind, {}, &observer_);
      feed.begin_list();
      for (const json& object : list(*kind.type)) CHECK(feed.list(object).ok());
      core_->apply(feed.end_list(version()), now());
    }
    core_->apply(engine::LeadershipChanged{true}, now());
    plan();
  }

  void add_workload(const std::string& name, const std::string& secret = "hunter2") {
    json pod_template = pod_template_of({{"cpu", "1"}});
    pod_template["spec"]["containers"][0].update(
        {{"args", {secret}}, {"env", json::array({{{"name", "A"}, {"value", secret}}})}});
    put(kWorkloads, name, workload_of(1, pod_template, {{"queueName", "team"}, {"active", true}}));
    plan();
  }
  // Carries out what was asked for.
  void answer() {
    for (const engine::Command& command : std::exchange(asked, {})) {
      const world::Answer answer = carry_out(command.write);
      REQUIRE_MESSAGE(answer.done(), answer.message);
      pass(std::chrono::milliseconds(7));
      core_->apply(engine::answer_of_done(command, *answer.object, &observer_).finished, now());
    }
    plan();
  }
  void apply(const engine::Event& event) { core_->apply(event, now()); }
  void plan() {
    pass(std::chrono::milliseconds(10));
    engine::LoopActions actions = core_->plan(now());
    for (engine::Command& command : actions.commands.writes) asked.push_back(std::move(command));
  }

  std::vector<engine::Command> asked;

 protected:
  void shown(const ResourceType& type, const json& object) override {
    if (core_ == nullptr) return;
    auto event = engine::KindFeed(WatchedKind{.type = &type}, {}, &observer_).change(object);
    REQUIRE(event.ok());
    core_->apply(*event, now());
  }
  void gone(const ResourceType&, const json&) override {}

 private:
  engine::LoopObserver& observer_;
  std::unique_ptr<engine::LoopCore> core_;
};

inline recording::ReplayResult replay_of(const std::string& text, engine::EngineSettings settings = {}) {
  settings.keep_webhook_configurations = false;
  std::istringstream in(text);
  recording::Reader reader(in);
  REQUIRE(reader.header().ok());
  recording::Replay replay(settings, 10);
  for (;;) {
    const auto batch = reader.next();
    REQUIRE_MESSAGE(batch.ok(), batch.error().message);
    if (!*batch) return replay.finish();
    replay.take(**batch);
  }
}

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
