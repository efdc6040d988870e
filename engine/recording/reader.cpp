#include "engine/recording/reader.h"

#include "api/codec/json.h"
#include "base/fnv.h"
#include "engine/loop/kind_feed.h"
#include "engine/loop/node_feed.h"
#include "kinds/watched_kinds.h"
#include "manifests/api_services.h"

namespace muster::recording {
namespace {

using nlohmann::json;

constexpr size_t kChecksum = 16;

struct FoundKind {
  const ResourceType* type = nullptr;  // null: not found
  bool metadata_only = false;
};

bool is_recorded_as(const ResourceType& type, std::string_view name) {
  return recorded_name(type) == name || std::string(type.selection).append(type.plural) == name;
}

FoundKind find_kind(std::string_view name) {
  for (const WatchedKind& kind : watched_kinds()) {
    if (is_recorded_as(*kind.type, name)) return {kind.type, kind.metadata_only};
  }
  for (const ResourceType* type : {&kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations,
                                   &manifests::kApiServices, &kNamespaces, &kPods, &kQueuedPods}) {
    if (is_recorded_as(*type, name)) return {type, false};
  }
  return {};
}

uint64_t unsigned_at(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

Result<TypedObject> read_one(const FoundKind& kind, const json& object) {
  if (string_at(object, {"metadata", "name"}).empty()) return fail("an object is missing, or has no name");
  engine::ReadObject read = engine::read_watched(*kind.type, kind.metadata_only, object);
  if (!read) return fail("an object cannot be read: " + read.error().what);
  return *std::move(read);
}

const json& object_of(const json& line) {
  return object_at(line, {"o"});
}

Result<engine::Event> read_answer(const json& line, const FoundKind& kind) {
  const auto outcome = reconcilers::find_outcome(string_at(line, {"outcome"}));
  if (!outcome) return fail("an answer has no outcome that is known");
  engine::WriteFinished answer{.id = unsigned_at(line, "id"),
                               .outcome = *outcome,
                               .version = unsigned_at(line, "version"),
                               .why = std::string(string_at(line, {"text"}))};
  if (line.contains("o")) {
    if (kind.type == nullptr) return fail("an answer has an object of a kind that is not known");
    auto object = read_one({kind.type, false}, object_of(line));
    if (!object) return fail(object.error().message);
    answer.object = *std::move(object);
  }
  return engine::Event(std::move(answer));
}

}  // namespace

Failure<Error> Reader::damaged(const std::string& why) const {
  return fail("line " + std::to_string(lines_) + " is damaged: " + why +
              "; the file was changed after it was written, or its disk is broken");
}

// Only the last line can be incomplete. All other lines are complete.
Result<Reader::Line> Reader::unwrap(const std::string& line, bool ended, json& into) {
  const auto bad = [&](const std::string& why) -> Result<Line> {
    if (ended && in_.peek() != std::istream::traits_type::eof()) return damaged(why);
    return Line::kTorn;
  };
  if (!ended || line.size() < kChecksum + 2 || line[kChecksum] != ' ') return bad("it has no checksum");
  const std::string_view text = std::string_view(line).substr(kChecksum + 1);
  if (line_of(text) != line + "\n") return bad("its checksum is another one");
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return bad("it is not an object in JSON");
  into = *std::move(parsed);
  return Line::kWhole;
}

Result<Reader::Line> Reader::read_line(json& into) {
  std::string line;
  bool ended = false;
  std::streambuf& buffer = *in_.rdbuf();
  for (int letter = buffer.sbumpc(); letter != std::istream::traits_type::eof(); letter = buffer.sbumpc()) {
    if (letter == '\n') {
      ended = true;
      break;
    }
    line += static_cast<char>(letter);
    if (line.size() > longest_line_) {
      ++lines_;
      return fail("line " + std::to_string(lines_) + " is longer than " + std::to_string(longest_line_) +
                  " bytes: this is no recording of muster");
    }
  }
  if (line.empty() && !ended) return Line::kEnd;
  ++lines_;
  bytes_ += line.size() + 1;
  return unwrap(line, ended, into);
}

Now Reader::time(const json& line) {
  const auto passed = int_at(line, {"t"}).value_or(0), drift = int_at(line, {"w"}).value_or(0);
  // Unsigned numbers wrap: the sum of two forged numbers must not be undefined.
  const auto add = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  };
  last_.monotonic = MonotonicTime(Duration(add(last_.monotonic.time_since_epoch().count(), passed)));
  last_.wall = TimePoint(Duration(add(add(last_.wall.time_since_epoch().count(), passed), drift)));
  return last_;
}

Result<Header> Reader::header() {
  json line;
  const auto read = read_line(line);
  if (!read) return fail(read.error().message);
  if (*read == Line::kEnd) return fail("the file is empty");
  if (*read == Line::kTorn || string_at(line, {"recording"}) != kMagic)
    return fail("this is no recording of muster: it does not begin with the header of one");
  Header header;
  header.version = string_at(line, {"muster"});
  header.commit = string_at(line, {"commit"});
  const int64_t format = int_at(line, {"format"}).value_or(0);
  if (format < 1 || format > kFormat) {
    return fail("the recording was made by muster " + header.version + " in format " + std::to_string(format) +
                ", and this muster reads format " + std::to_string(kFormat) + "; use that version, or a newer one");
  }
  header.format = static_cast<int>(format);
  header.began.wall = TimePoint(Duration(int_at(line, {"wall"}).value_or(0)));
  header.began.monotonic = MonotonicTime(Duration(int_at(line, {"monotonic"}).value_or(0)));
  header.from_snapshot = bool_at(line, {"fromSnapshot"});
  header.settings = object_at(line, {"settings"});
  last_ = header.began;
  return header;
}

Result<engine::Event> Reader::read_event(const json& line, Pending& pending) {
  const std::string_view what = string_at(line, {"e"});
  const FoundKind kind = find_kind(string_at(line, {"k"}));
  if (what == "tick") return engine::Event(engine::Tick{});
  if (what == "bundle") return engine::Event(engine::CaBundleIssued{std::string(string_at(line, {"text"}))});
  if (what == "leadership")
    return engine::Event(engine::LeadershipChanged{bool_at(line, {"leads"}), unsigned_at(line, "term")});
  if (what == "nodes") {
    auto news = engine::read_node_news(object_of(line));
    if (!news) return fail(news.error().message);
    return engine::Event(engine::NodesObserved{*std::move(news)});
  }
  if (what == "answer") return read_answer(line, kind);
  if (kind.type == nullptr)
    return fail("the kind \"" + std::string(string_at(line, {"k"})) + "\" is not known to this muster");
  if (what == "absent") return engine::Event(engine::KindAbsent{kind.type});
  if (what == "caughtUp") return engine::Event(engine::KindCaughtUp{kind.type, unsigned_at(line, "term")});
  if (what == "list") {
    engine::KindListed list{.type = kind.type,
                            .objects = {},
                            .version = unsigned_at(line, "version"),
                            .name = std::string(string_at(line, {"name"}))};
    if (unsigned_at(line, "n") != pending.items.size()) return fail("a list does not have as many objects as it says");
    for (const json& item : pending.items) {
      auto object = read_one(kind, item);
      if (!object) return fail(object.error().message);
      list.objects.push_back(*std::move(object));
    }
    pending.items.clear();
    return engine::Event(std::move(list));
  }
  if (what != "changed" && what != "removed") return fail("it is an event that this muster does not know");
  auto object = read_one(kind, object_of(line));
  if (!object) return fail(object.error().message);
  if (what == "changed") return engine::Event(engine::ObjectChanged{*std::move(object)});
  return engine::Event(engine::ObjectRemoved{*std::move(object)});
}

Outcome<> Reader::add(const json& line, Pending& pending) {
  ++pending.lines;
  if (string_at(line, {"e"}) == "item") {
    pending.items.push_back(object_of(line));
    return Done{};
  }
  const Now at = time(line);
  auto event = read_event(line, pending);
  if (!event) return fail(event.error().message);
  if (!pending.items.empty()) return fail("objects of a list come before another event");
  pending.batch.events.emplace_back(*std::move(event), at);
  return Done{};
}

Outcome<> Reader::close(const json& line, Batch& batch) {
  batch.number = unsigned_at(line, "b");
  if (batch.number != ++batches_)
    return fail("it closes batch " + std::to_string(batch.number) + ", and batch " + std::to_string(batches_) +
                " is missing");
  batch.snapshot = bool_at(line, {"snapshot"});
  batch.planned = time(line);
  for (const json& item : array_at(line, {"writes"})) {
    const auto verb = reconcilers::find_verb(string_at(item, {"verb"}));
    const FoundKind kind = find_kind(string_at(item, {"kind"}));
    if (!verb || kind.type == nullptr) return fail("a write has no verb or no kind that is known");
    RecordedWrite write{
        .id = unsigned_at(item, "id"),
        .verb = *verb,
        .target = {kind.type, std::string(string_at(item, {"namespace"})), std::string(string_at(item, {"name"}))},
        .uid = std::string(string_at(item, {"uid"}))};
    if (item.contains("body")) write.body = item["body"];
    batch.writes.push_back(std::move(write));
  }
  return Done{};
}

Result<std::optional<Batch>> Reader::next() {
  Pending pending;
  for (;;) {
    json line;
    const auto read = read_line(line);
    if (!read) return fail(read.error().message);
    if (*read != Line::kWhole) {
      if (*read == Line::kTorn)
        torn_ = "the last line is not whole";
      else if (pending.lines > 0)
        torn_ = "the last batch is not whole";
      if (!torn_.empty()) torn_ += ": muster was killed while it wrote; everything before is used";
      return std::optional<Batch>();
    }
    if (line.contains("e")) {
      if (auto added = add(line, pending); !added) return damaged(added.error().message);
      continue;
    }
    if (!line.contains("b")) return damaged("it is neither an event nor the end of a batch");
    if (!pending.items.empty()) return damaged("objects of a list have no list");
    if (auto closed = close(line, pending.batch); !closed) return damaged(closed.error().message);
    return std::optional<Batch>(std::move(pending.batch));
  }
}

}  // namespace muster::recording
