#include "engine/recording/recording.h"

#include <cstdio>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "base/fnv.h"
#include "engine/recording/redaction.h"

namespace muster::recording {
namespace {

using nlohmann::json;
using What = engine::ObservedEvent::What;

std::string json_text(std::string_view text) {
  return to_text(json(text));
}

std::string_view name_of(What what) {
  switch (what) {
    case What::kListed:
      return "list";
    case What::kAbsent:
      return "absent";
    case What::kChanged:
      return "changed";
    case What::kRemoved:
      return "removed";
    case What::kBundle:
      return "bundle";
    case What::kAnswer:
      return "answer";
    case What::kLeadership:
      return "leadership";
    case What::kCaughtUp:
      return "caughtUp";
    case What::kNodes:
      return "nodes";
    case What::kTick:
      break;
  }
  return "tick";
}

json to_json(const RecordedWrite& write) {
  json object = {{"id", write.id},
                 {"verb", word_of(write.verb)},
                 {"kind", recorded_name(*write.target.type)},
                 {"name", write.target.name}};
  if (!write.target.ns.empty()) object["namespace"] = write.target.ns;
  if (!write.uid.empty()) object["uid"] = write.uid;
  if (!write.body.is_null()) object["body"] = write.body;
  return object;
}

}  // namespace

RecordedWrite recorded(const engine::Command& command) {
  const reconcilers::Write& write = command.write;
  RecordedWrite kept{.id = command.id, .verb = write.verb, .target = write.target, .uid = write.uid};
  if (!write.body.is_null()) kept.body = redacted(*write.target.type, write.body, same_for_all());
  return kept;
}

std::string recorded_name(const ResourceType& type) {
  return std::string(type.selection) + full_name(type);
}

std::string line_of(std::string_view json_text) {
  char checksum[18];
  std::snprintf(checksum, sizeof checksum, "%016llx ", static_cast<unsigned long long>(fnv1a_64(json_text)));
  return std::string(checksum).append(json_text).append("\n");
}

std::string Encoder::begin(const Header& header) {
  last_ = header.began;
  batches_ = 0;
  return line_of(to_text(json{{"recording", kMagic},
                              {"format", header.format},
                              {"muster", header.version},
                              {"commit", header.commit},
                              {"wall", header.began.wall.time_since_epoch().count()},
                              {"monotonic", header.began.monotonic.time_since_epoch().count()},
                              {"fromSnapshot", header.from_snapshot},
                              {"settings", header.settings}}));
}

std::string Encoder::time(Now now) {
  const Duration passed = now.monotonic - last_.monotonic;
  const Duration drift = (now.wall - last_.wall) - passed;
  last_ = now;
  std::string text = ",\"t\":" + std::to_string(passed.count());
  if (drift != Duration::zero()) text += ",\"w\":" + std::to_string(drift.count());
  return text;
}

void Encoder::add_event(const engine::ObservedEvent& event, std::string& lines) {
  const bool is_list = event.what == What::kListed;
  if (is_list && event.texts) {
    for (const std::string& text : *event.texts) lines += line_of("{\"e\":\"item\",\"o\":" + text + "}");
  }
  std::string line = "{\"e\":" + json_text(name_of(event.what)) + time(event.at);
  if (event.type != nullptr) line += ",\"k\":" + json_text(recorded_name(*event.type));
  if (is_list) line += ",\"n\":" + std::to_string(event.texts ? event.texts->size() : 0);
  if (!event.name.empty()) line += ",\"name\":" + json_text(event.name);
  if (event.version != 0) line += ",\"version\":" + std::to_string(event.version);
  if (event.term != 0) line += ",\"term\":" + std::to_string(event.term);
  if (event.what == What::kLeadership) line += event.leads ? ",\"leads\":true" : ",\"leads\":false";
  if (event.what == What::kAnswer)
    line += ",\"id\":" + std::to_string(event.id) + ",\"outcome\":" + json_text(word_of(event.outcome));
  if (!event.text.empty()) line += ",\"text\":" + json_text(event.text);
  if (!is_list && event.texts && !event.texts->empty()) line += ",\"o\":" + event.texts->front();
  lines += line_of(line + "}");
}

std::string Encoder::lines_of(const engine::ObservedBatch& batch, bool snapshot) {
  std::string lines;
  for (const engine::ObservedEvent& event : batch.events) add_event(event, lines);
  json writes = json::array();
  for (const engine::Command& command : batch.writes) writes.push_back(to_json(recorded(command)));
  std::string line = "{\"b\":" + std::to_string(++batches_) + time(batch.planned);
  if (snapshot) line += ",\"snapshot\":true";
  if (!writes.empty()) line += ",\"writes\":" + to_text(writes);
  return lines + line_of(line + "}");
}

}  // namespace muster::recording
